import type { Tensor } from '@grpo/torch';
import { clipShares, type Share } from './clip-shares.js';
import type { LossInput, LossMetrics } from './loss-types.js';
import { vespoWeights } from './policy-term.js';
import type { Ratio } from './ratio.js';
import type { Rows } from './rows.js';

/** What a loss tells of itself, under TRL's names. */
export function lossMetrics(
  input: LossInput,
  ratio: Ratio,
  correction_T: Tensor | null,
  kl_T: Tensor | null,
  rows: Rows,
): LossMetrics {
  const { settings, advantages } = input;
  const means: Record<string, Share> = kl_T ? { kl: shareOf(kl_T.detach().toNumbers(), rows) } : {};
  switch (settings.policy) {
    case 'clip': {
      const { least, most, ...shares } = clipShares(ratio.ratio_T.toNumbers(), advantages, rows, settings);
      return { means: { ...means, ...shares.means }, least, most };
    }
    case 'cispo': {
      const advantages_T = rows.spreadNumbers(advantages);
      const isCapped = (value: number, t: number) => Number(value > settings.cap && advantages_T[t]! > 0);
      means.cispo_clip_ratio = shareOf(ratio.ratio_T.toNumbers().map(isCapped), rows);
      return { means };
    }
    case 'vespo': {
      const advantages_B = rows.tensor(advantages);
      const weights_B = vespoWeights({ ...ratio, correction_T, advantages_B, rows, settings });
      means['vespo/phi_seq_mean'] = { sum: weights_B.sum().item(), of: rows.lengths.length };
      return { means };
    }
    default:
      return { means };
  }
}

/** Sum over the trained tokens, and how many they are. */
function shareOf(values_T: readonly number[], rows: Rows): Share {
  const share = { sum: 0, of: 0 };
  for (const [t, value] of values_T.entries()) {
    if (!rows.isTrained(t)) continue;
    share.sum += value;
    share.of++;
  }
  return share;
}
