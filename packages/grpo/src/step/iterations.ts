import { UserError } from '../errors/user-error.js';
import { isEstimated, type MaskedCompletion } from '../objective/index.js';
import type { Region } from '../rollout/index.js';
import type { Batch, Iteration } from './batch.js';
import type { Trainer } from './trainer.js';

/**
 * The passes over a rollout (`objective.iterations`): which tokens they learn from, and for a masked-diffusion model how
 * each hides them. Those of a causal model are all the same one.
 */
export function iterationsOf(trainer: Trainer, batch: Batch, step: number): Iteration[] {
  const { stages, model, config } = trainer;
  const masks_B = batch.trained.completions_B.map(({ ids }, b) => {
    const isLeftOut = config.objective.maskTruncated && batch.completions_B[b]!.finishReason === 'length';
    return new Uint8Array(ids.length).fill(isLeftOut ? 0 : 1);
  });
  const { iterations } = config.objective;
  if (!model.decoder.config.diffusion) return Array<Iteration>(iterations).fill({ masks_B });
  const regions_B = batch.completions_B.map((_, b) => regionOf(batch, b));
  const groups = batch.trained.prompts.map(({ ids: prompt }, p) => ({
    prompt,
    completions: batch.membersOf(p).map((b) => {
      const { ids } = batch.trained.completions_B[b]!;
      return { ids, region: regions_B[b]! };
    }),
  }));
  return Array.from({ length: iterations }, (_, iteration) => {
    const plans_B = stages.plan(groups, config.diffusion, config.seed, { step, iteration });
    const masked_B = regions_B.map(({ ids }, b): MaskedCompletion => ({ region: ids, plan: plans_B[b]! }));
    // A token has no log-prob if no pass hides it.
    const estimated_B = masks_B.map((mask, b) =>
      mask.map((own, t) => (isEstimated(plans_B[b]!, t) ? own : 0)),
    );
    return { masks_B: estimated_B, masked_B };
  });
}

/** The region of a completion, beginning with the tokens that are trained on. */
function regionOf({ completions_B, trained }: Batch, b: number): Region {
  const { region } = completions_B[b]!;
  if (!region) {
    throw new UserError(
      `completion ${b} has no region: a masked-diffusion model needs the places it filled`,
      {
        hint: 'Your own sample stage must return the region of each completion, as the standard one does.',
      },
    );
  }
  const { ids } = trained.completions_B[b]!;
  return { ids: [...ids, ...region.ids.slice(ids.length)], order: region.order };
}
