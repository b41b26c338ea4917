import { withoutNaN } from './moments.js';

/**
 * Quantile by linear interpolation between the two nearest values, as PyTorch and NumPy compute it; Infinity of none.
 *
 * @param sorted - ascending, without NaN
 * @param share - from 0, the least value, to 1, the greatest
 */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  if (sorted.length === 0) return Number.POSITIVE_INFINITY;
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below]! + (place - below) * (sorted[above]! - sorted[below]!);
}

/** The middle of the numbers, or the mean of the two middle ones; NaN values are left out, and NaN of none. */
export function median(values: ArrayLike<number>): number {
  const sorted = withoutNaN(values).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The smallest of the sorted values that `percent` of 100 do not exceed; 0 when there are none. */
export function percentile(sorted: ArrayLike<number>, percent: number): number {
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0;
}
