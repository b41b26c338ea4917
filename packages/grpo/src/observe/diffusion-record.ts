import { joinRows } from '../maths/lists.js';
import { MASK_STREAM, type MaskPlan } from '../objective/index.js';
import { denoisingSizes } from '../rollout/index.js';
import type { Trainer } from '../step/trainer.js';
import type { StepRecord } from '../trace/index.js';
import type { RecordedStep } from './step-recorder.js';

type DiffusionRecord = NonNullable<StepRecord['diffusion']>;

/** What a masked-diffusion model filled, and the mask plans of each iteration. A causal model has none of it. */
export function diffusionRecordOf(
  { model, sampling, ownStages }: Trainer,
  { batch, scored }: Pick<RecordedStep, 'batch' | 'scored'>,
  step: number,
): DiffusionRecord | undefined {
  const shape = model.decoder.config.diffusion;
  if (!shape) return undefined;
  const regions = batch.completions_B.map(({ region }) => region!);
  const plansOf = (iteration: number): MaskPlan[] =>
    batch.iterations[iteration]!.masked_B!.map(({ plan }, b) => (scored.has(b) ? plan : []));
  return {
    maskId: shape.maskId,
    shifted: shape.shifted,
    ...denoisingSizes(sampling.maxNewTokens, sampling.diffusion, shape),
    widths: Int32Array.from(regions, ({ ids }) => ids.length),
    region: joinRows(
      Int32Array,
      regions.map(({ ids }) => ids),
    ),
    order: joinRows(
      Int32Array,
      regions.map(({ order }) => order),
    ),
    plans: batch.iterations.map((_, iteration) => ({
      // A stage of one's own draws as it likes.
      ...(!ownStages?.includes('plan') && { keys: Int32Array.of(step - 1, MASK_STREAM, iteration) }),
      ...planRecordOf(plansOf(iteration)),
    })),
  };
}

function planRecordOf(plans_B: readonly MaskPlan[]) {
  const views = plans_B.flat();
  return {
    views: Int32Array.from(plans_B, ({ length }) => length),
    weights: Float64Array.from(views, ({ weight }) => weight),
    prompt: joinRows(
      Uint8Array,
      views.map(({ prompt }) => prompt),
    ),
    region: joinRows(
      Uint8Array,
      views.map(({ region }) => region),
    ),
  };
}
