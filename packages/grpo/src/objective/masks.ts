import { noGrad, type Tensor } from '@grpo/torch';
import { quantile } from '../maths/quantile.js';
import type { TokenRows } from './token-rows.js';

/**
 * 1 for the trained tokens of highest entropy, 0 for the others: `[T]`. The threshold is the quantile 1 − share over
 * the micro-batch, interpolated as PyTorch does ("Beyond the 80/20 rule", Wang et al., 2025): a split of the batch
 * moves it.
 */
export function topEntropyMask(share: number, entropies_T: Tensor, rows: TokenRows): Uint8Array {
  const entropies = entropies_T.detach().toNumbers();
  const known = entropies.filter((_, t) => rows.isTrained(t)).sort((a, b) => a - b);
  const threshold = quantile(known, 1 - share);
  return Uint8Array.from(entropies, (entropy, t) => (rows.isTrained(t) && entropy >= threshold ? 1 : 0));
}

/**
 * 0 for completions with a negative advantage that have become too unlikely since they were sampled, else 1: `[B]`
 * (DeepSeek-V3.2, eq. 9).
 *
 * @param sampled_T - log-probs when sampled
 * @param threshold - mean fall of the log-probs, in nats a token
 */
export function offPolicyMask(
  threshold: number,
  sampled_T: Tensor,
  logprobs_T: Tensor,
  advantages: ArrayLike<number>,
  rows: TokenRows,
): number[] {
  const fall_B = noGrad(() => rows.mean(sampled_T.sub(logprobs_T)).toNumbers());
  return fall_B.map((fall, b) => (advantages[b]! >= 0 || fall <= threshold ? 1 : 0));
}
