import { inputs } from '../doctor/inputs.js';
import { known } from '../formats/known.js';
import { mean } from '../maths/moments.js';
import type { StepRecord } from '../trace/index.js';

/** How a masked-diffusion model filled completions, and how their log-probs are estimated in the first iteration. */
export interface MaskedView {
  /** Places that were filled before the next block began, and denoising steps of a whole region. */
  blockLength?: number;
  steps?: number;
  estimator?: string;
  /** Passes over each completion. */
  passes?: number;
  /** Shares of the places of prompt and region that a pass hides, on average. */
  hiddenPrompt?: number;
  hiddenRegion?: number;
  /** Whether the logits of a place predict the token after it. */
  shifted: boolean;
}

/** A causal model has none. */
export function maskedView(record: StepRecord): MaskedView | undefined {
  const { diffusion, declared } = record;
  if (!diffusion) return undefined;
  const { blockLength, steps, shifted = false } = diffusion;
  const plans = inputs.plans.from(record)?.[0]?.filter((views) => views.length > 0) ?? [];
  const views = plans.flat();
  const shareOf = (part: 'prompt' | 'region') =>
    views.length > 0 ? mean(views.map((view) => mean(view[part]))) : undefined;
  return {
    shifted,
    ...known({
      blockLength,
      steps,
      estimator: declared?.diffusion?.estimator,
      passes: plans[0]?.length,
      hiddenPrompt: shareOf('prompt'),
      hiddenRegion: shareOf('region'),
    }),
  };
}
