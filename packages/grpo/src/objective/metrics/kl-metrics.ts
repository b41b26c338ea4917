import type { Tensor } from '@grpo/torch';
import { sum } from '../../maths/moments.js';
import type { LossInput } from '../loss-types.js';
import type { TokenRows } from '../token-rows.js';
import type { Share } from './clip-shares.js';

/** Mean KL, and that of each kind of completions: over tokens, or over completions where each has one KL. */
export function klMeans(
  kl_T: Tensor,
  { settings, kinds }: LossInput,
  rows: TokenRows,
): Record<string, Share> {
  const values_T = kl_T.detach().toNumbers();
  const means: Record<string, Share> = { kl: { sum: 0, of: 0 } };
  let start = 0;
  for (const [b, length] of rows.lengths.entries()) {
    const trained = values_T.slice(start, start + length).filter((_, t) => rows.isTrained(start + t));
    const counted = settings.kl.level === 'token' ? trained : trained.slice(0, 1);
    const total = sum(counted);
    for (const name of kinds ? ['kl', `kl/${kinds[b]}`] : ['kl']) {
      const own = means[name] ?? { sum: 0, of: 0 };
      means[name] = { sum: own.sum + total, of: own.of + counted.length };
    }
    start += length;
  }
  return means;
}
