import type { Aggregation } from '../config/choices.js';
import { sum } from '../maths/moments.js';
import type { LossSettings } from './settings.js';

/** Size of the optimizer update that a micro-batch is a part of. */
export interface UpdateSize {
  /** Its completions. */
  completions: number;
  /** Its trained tokens. */
  tokens: number;
}

type WeightOf = (count: number, size: UpdateSize, micro: UpdateSize, normalizer: number) => number;

/**
 * Weight of each trained token of a completion with `count` of them; the loss is the weighted sum. Shares of
 * micro-batches add up to the loss of the whole update, however it is split, except for `micro_token_mean`.
 * - `sequence_mean`: each completion counts the same, within it each token (DeepSeekMath, eq. 3)
 * - `token_mean`: each token of the update counts the same (DAPO, eq. 8)
 * - `micro_token_mean`: each token of the micro-batch; that counts by its completions (TRL's bnpo; defined by the split)
 * - `constant`: a completion's sum over a constant (Dr. GRPO, eq. 2)
 * - `sum`: a completion's sum
 */
const weights: Record<Aggregation, WeightOf> = {
  sequence_mean: (count, { completions }) => 1 / (Math.max(count, 1) * completions),
  token_mean: (_, { tokens }) => 1 / Math.max(tokens, 1),
  micro_token_mean: (_, { completions }, micro) =>
    micro.completions / completions / Math.max(micro.tokens, 1),
  constant: (_, { completions }, __, normalizer) => 1 / (completions * normalizer),
  sum: (_, { completions }) => 1 / completions,
};

/**
 * Weight of a trained token of each completion: `[B]`.
 *
 * @param counts - trained tokens of each completion of the micro-batch
 */
export function tokenWeights(
  { aggregation, normalizer }: Pick<LossSettings, 'aggregation' | 'normalizer'>,
  counts: readonly number[],
  update: UpdateSize,
): number[] {
  const micro = { completions: counts.length, tokens: sum(counts) };
  return counts.map((count) => weights[aggregation](count, update, micro, normalizer));
}

/** Weight by which the tokens of a completion add up to one value of it, and these to their mean: `[B]`. */
export const sequenceWeights = (counts: readonly number[], { completions }: UpdateSize): number[] =>
  counts.map((count) => 1 / (Math.max(count, 1) * completions));
