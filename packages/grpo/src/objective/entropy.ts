import type { Tensor } from '@grpo/torch';
import { sum } from '../maths/moments.js';
import type { LossInput } from './loss-types.js';
import { topEntropyMask } from './masks.js';
import type { Rows } from './rows.js';

/** Mean entropy of the tokens that the policy term is kept for: the micro-batch's share of the update's. */
export function entropyMean({ settings, entropies_T, update, lengths }: LossInput, rows: Rows): Tensor {
  const { topEntropy, compat } = settings;
  const kept_T = Float64Array.from(
    topEntropy < 1
      ? topEntropyMask(topEntropy, entropies_T, rows)
      : rows.masked(new Float64Array(entropies_T.numel).fill(1)),
  );
  const tokens = sum(rows.counts);
  const share = compat ? lengths.length / update.completions : tokens / Math.max(update.tokens, 1);
  const count = sum(kept_T);
  return entropies_T
    .mul(rows.tensor(kept_T))
    .sum()
    .mul(share / Math.max(count, 1));
}
