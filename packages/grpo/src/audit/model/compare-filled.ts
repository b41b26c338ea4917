import type { Comparison } from '../../trace/index.js';
import type { AuditContext } from '../context.js';
import { scoreSequences } from '../plain/plain-logprobs.js';
import type { PlainModel } from '../plain/plain-model.js';
import type { PlainView } from '../plain/plain-pass.js';
import { compareRows } from './compare-rows.js';
import type { PlainCompletion } from './plain-step.js';
import { toleranceOf } from './tolerance.js';

/** Denoising steps of a completion that are computed again. */
const STEPS = 4;

/**
 * Prompt → completion of a masked-diffusion model: the sampler's log-prob of a token is that of the step that filled its
 * place, which saw what the steps before had filled. Some steps of each completion are computed again.
 */
export function compareFilled(
  { trainer, batch, tell }: AuditContext,
  model: PlainModel,
  completions: readonly PlainCompletion[],
): Comparison[] {
  const sequences = completions.map(({ place, prompt, completion }) => {
    const { ids, order } = batch.completions_B[place]!.region!;
    const plan = someOf([...new Set(order.slice(0, completion.length))]).map((step) =>
      viewOf(order, step, prompt.length),
    );
    return { prompt, completion, masked: { region: ids, plan } };
  });
  const scores = scoreSequences(model, sequences, trainer.config.rollout.temperature, tell);
  const rows = completions.map(({ place, completion }, i) => ({
    completion: place,
    found: batch.completions_B[place]!.logprobs,
    plain: scores[i]!.logprobs,
    tokens: [...completion.keys()].filter((t) =>
      sequences[i]!.masked.plan.some(({ scored }) => scored![t] === 1),
    ),
  }));
  return compareRows('completion', 'log-prob of the sampler', rows, toleranceOf(trainer.model.decoder.dtype));
}

/** The input of a denoising step: the places that this step and later ones fill are hidden. */
function viewOf(
  order: readonly number[],
  step: number,
  promptLength: number,
): PlainView & { scored: Uint8Array } {
  return {
    prompt: new Uint8Array(promptLength),
    region: Uint8Array.from(order, (own) => Number(own >= step)),
    scored: Uint8Array.from(order, (own) => Number(own === step)),
    weight: 1,
  };
}

/** From the first to the last, evenly. */
function someOf(steps: readonly number[]): number[] {
  const ascending = [...steps].sort((a, b) => a - b);
  if (ascending.length <= STEPS) return ascending;
  const last = ascending.length - 1;
  return Array.from({ length: STEPS }, (_, i) => ascending[Math.round((i * last) / (STEPS - 1))]!);
}
