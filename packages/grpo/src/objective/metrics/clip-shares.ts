import type { LossSettings } from '../settings.js';
import type { TokenRows } from '../token-rows.js';

/** A sum and its divisor: both add up over micro-batches. */
export interface Share {
  sum: number;
  of: number;
}

/**
 * Shares of the tokens (of the completions where each has one ratio) whose ratio the clip cut off from below, where
 * the advantage is negative, or from above, where it is positive: they have no gradient.
 */
export function clipShares(
  ratios: ArrayLike<number>,
  advantages: ArrayLike<number>,
  rows: TokenRows,
  { ratio: level, clipLow, clipHigh, delta = Number.POSITIVE_INFINITY }: LossSettings,
) {
  const sums = { low: 0, high: 0, of: 0 };
  let lowMin = Number.POSITIVE_INFINITY;
  let highMax = Number.NEGATIVE_INFINITY;
  let start = 0;
  for (const [b, length] of rows.lengths.entries()) {
    const advantage = advantages[b]!;
    let low = 0;
    let high = 0;
    let of = level === 'sequence' ? 1 : 0;
    // One ratio for all tokens: the first stands for the completion.
    const end = start + (level === 'sequence' ? Math.min(1, length) : length);
    for (let t = start; t < end; t++) {
      if (level !== 'sequence') {
        if (!rows.isTrained(t)) continue;
        of++;
      }
      const ratio = Math.min(ratios[t]!, delta);
      if (ratio < 1 - clipLow && advantage < 0) low++;
      if (ratio > 1 + clipHigh && advantage > 0) high++;
    }
    start += length;
    if (of === 0) continue;
    sums.low += low;
    sums.high += high;
    sums.of += of;
    lowMin = Math.min(lowMin, low / of);
    highMax = Math.max(highMax, high / of);
  }
  return {
    means: {
      'clip_ratio/low_mean': { sum: sums.low, of: sums.of },
      'clip_ratio/high_mean': { sum: sums.high, of: sums.of },
      'clip_ratio/region_mean': { sum: sums.low + sums.high, of: sums.of },
    },
    /** Shares of the completions that are clipped least from below and most from above. */
    least: { 'clip_ratio/low_min': lowMin },
    most: { 'clip_ratio/high_max': highMax },
  };
}
