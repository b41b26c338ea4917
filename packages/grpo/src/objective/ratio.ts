import type { Tensor } from '@grpo/torch';
import type { RatioLevel } from '../config/choices.js';
import type { TokenRows } from './token-rows.js';

/** Policy to old policy. */
export interface Ratio {
  /** log-prob − old log-prob of each token, with gradient: `[T]`. */
  difference_T: Tensor;
  /** For `sequence` the same for all tokens of a completion: `[T]`. */
  ratio_T: Tensor;
}

/**
 * Log-ratio of each token, from the differences of its log-probs:
 * - `none`, `token`: its own (PPO)
 * - `sequence`: the mean over its completion (GSPO, eq. 7), which is also the ratio of mean log-probs
 * - `sequence_token`: that mean, with the gradient of the token alone (GSPO-token, eq. 14)
 */
const logRatios: Record<RatioLevel, (difference_T: Tensor, rows: TokenRows) => Tensor> = {
  none: (difference_T) => difference_T,
  token: (difference_T) => difference_T,
  sequence: (difference_T, rows) => rows.spread(rows.mean(difference_T)),
  sequence_token: (difference_T, rows) =>
    rows.spread(rows.mean(difference_T.detach())).add(difference_T.sub(difference_T.detach())),
};

/** @param old_T - null takes the policy's own, detached: a ratio of exactly 1 */
export function ratioOf(level: RatioLevel, logprobs_T: Tensor, old_T: Tensor | null, rows: TokenRows): Ratio {
  const difference_T = logprobs_T.sub(old_T ?? logprobs_T.detach());
  return { difference_T, ratio_T: logRatios[level](difference_T, rows).exp() };
}
