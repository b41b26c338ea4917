/** Trends of a metric over its entries. */
import { mean, sum } from './moments.js';

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

/** Whether 5 values or more surely fall: t < −2, of fewer than 10 t < −3. */
export function falls(values: ArrayLike<number>): boolean {
  const { count, t } = slope(values);
  return count >= 5 && t < (count < 10 ? -3 : -2);
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
