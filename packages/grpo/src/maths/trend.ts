/** Trends of a metric over its entries. */
import { mean, sum, withoutNaN } from './moments.js';
import { median } from './quantile.js';

const MOST_PAIRED = 1000;

/** A straight line through values, by index or by `at`; `t` is slope ÷ its standard error. NaN values are left out. */
export function slope(
  values: ArrayLike<number>,
  at?: readonly number[],
): { slope: number; t: number; count: number } {
  const points = Array.from(values, (y, i) => ({ x: at?.[i] ?? i, y })).filter(({ y }) => !Number.isNaN(y));
  const count = points.length;
  const mx = mean(points.map(({ x }) => x));
  const my = mean(points.map(({ y }) => y));
  const sxx = sum(points.map(({ x }) => (x - mx) ** 2));
  const b = sum(points.map(({ x, y }) => (x - mx) * (y - my))) / sxx;
  const rest = sum(points.map(({ x, y }) => (y - my - b * (x - mx)) ** 2));
  return { slope: b, t: b / Math.sqrt(rest / (count - 2) / sxx), count };
}

/**
 * Mann–Kendall test: z of the number of rises minus falls over all pairs. Needs no shape of the trend and bears
 * outliers. Ties are corrected for. NaN values are left out; of more than 1000 every n-th is taken.
 */
export function mannKendall(values: ArrayLike<number>): { z: number; count: number } {
  const all = withoutNaN(values);
  // Every pair is looked at.
  const step = Math.ceil(all.length / MOST_PAIRED);
  const some = all.filter((_, i) => i % step === 0);
  const n = some.length;
  let score = 0;
  for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) score += Math.sign(some[j]! - some[i]!);
  const ties = new Map<number, number>();
  for (const value of some) ties.set(value, (ties.get(value) ?? 0) + 1);
  const tied = sum([...ties.values()].map((t) => t * (t - 1) * (2 * t + 5)));
  const variance = (n * (n - 1) * (2 * n + 5) - tied) / 18;
  return { z: variance > 0 ? (score - Math.sign(score)) / Math.sqrt(variance) : 0, count: n };
}

/** The longest run of neighbouring entries that fulfil the test, and the index at which it begins. */
export function longestRun(
  values: ArrayLike<number>,
  test: (value: number) => boolean,
): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let length = 0;
  for (let i = 0; i < values.length; i++) {
    length = test(values[i]!) ? length + 1 : 0;
    if (length > best.length) best = { start: i - length + 1, length };
  }
  return best;
}

/** The middle of the first and of the last tenth. */
export function ends(values: ArrayLike<number>): { first: number; last: number } {
  const all = withoutNaN(values);
  const tenth = Math.max(1, Math.floor(all.length / 10));
  return { first: median(all.slice(0, tenth)), last: median(all.slice(-tenth)) };
}
