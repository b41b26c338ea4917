import type { TokenRows } from '../token-rows.js';

/** A sum and its divisor: both add up over micro-batches. */
export interface Share {
  sum: number;
  of: number;
}

/**
 * Shares of the tokens (of the completions where each has one ratio) that were cut off from below, where the advantage
 * is negative, or from above, where it is positive: they have no gradient.
 *
 * @param hasOneRatio - each completion has one for all of its tokens
 * @param cutOf - the side on which a token is cut off
 */
export function clipShares(
  rows: TokenRows,
  hasOneRatio: boolean,
  cutOf: (t: number, b: number) => 'low' | 'high' | undefined,
) {
  const sums = { low: 0, high: 0, of: 0 };
  let lowMin = Number.POSITIVE_INFINITY;
  let highMax = Number.NEGATIVE_INFINITY;
  let start = 0;
  for (const [b, length] of rows.lengths.entries()) {
    const own = { low: 0, high: 0 };
    let of = hasOneRatio ? 1 : 0;
    // One ratio for all tokens: the first stands for the completion.
    const end = start + (hasOneRatio ? Math.min(1, length) : length);
    for (let t = start; t < end; t++) {
      if (!hasOneRatio) {
        if (!rows.isTrained(t)) continue;
        of++;
      }
      const cut = cutOf(t, b);
      if (cut) own[cut]++;
    }
    start += length;
    if (of === 0) continue;
    sums.low += own.low;
    sums.high += own.high;
    sums.of += of;
    lowMin = Math.min(lowMin, own.low / of);
    highMax = Math.max(highMax, own.high / of);
  }
  return {
    means: {
      'clip_ratio/low_mean': { sum: sums.low, of: sums.of },
      'clip_ratio/high_mean': { sum: sums.high, of: sums.of },
      'clip_ratio/region_mean': { sum: sums.low + sums.high, of: sums.of },
    },
    /** Shares of the completions that are cut least from below and most from above. */
    least: { 'clip_ratio/low_min': lowMin },
    most: { 'clip_ratio/high_max': highMax },
  };
}
