import type { Tensor } from '@grpo/torch';
import { sum } from '../maths/moments.js';
import type { LossInput } from './loss-types.js';
import { topEntropyMask } from './masks.js';
import type { TokenRows } from './token-rows.js';

/**
 * Mean entropy of the tokens that the policy term is kept for, times the micro-batch's share of the update.
 */
export function entropyMean({ settings, entropies_T }: LossInput, rows: TokenRows, share: number): Tensor {
  const { topShare } = settings.entropy;
  const kept_T = Float64Array.from(
    topShare < 1
      ? topEntropyMask(topShare, entropies_T, rows)
      : rows.maskNumbers(new Float64Array(entropies_T.numel).fill(1)),
  );
  const count = sum(kept_T);
  return entropies_T
    .mul(rows.tensor(kept_T))
    .sum()
    .mul(share / Math.max(count, 1));
}
