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

/** A straight line through values from the first to the last, and what it gains. Its bounds hold the true gain in 95 of 100 cases. */
export interface Gain {
  /** The line at the first value and at the last. */
  from: number;
  to: number;
  gain: number;
  low: number;
  high: number;
}

/**
 * The gain over 8 finite values or more. Neighbours that err alike tell less than as many others: a correlation r > 0 of
 * residuals widens the bounds by √((1 + r) ÷ (1 − r)); with r = 0.6 they still hold 80 of 100 of 8 to 20 values.
 *
 * @param at - where the values stand, ascending; by index where it is missing
 */
export function gainOver(values: readonly number[], at: readonly number[] = [...values.keys()]): Gain {
  const count = values.length;
  const [first, last, center] = [at[0]!, at.at(-1)!, mean(at)];
  const perStep = slope(values, at).slope;
  const gain = perStep * (last - first);
  const middle = mean(values);
  const residuals = values.map((value, i) => value - middle - perStep * (at[i]! - center));
  const squares = sum(residuals.map((residual) => residual ** 2));
  const products = sum(residuals.slice(1).map((residual, i) => residual * residuals[i]!));
  const r = squares > 0 ? Math.min(0.9, Math.max(0, products / squares)) : 0;
  const free = count - 2;
  const spread = sum(at.map((x) => (x - center) ** 2)) / (last - first) ** 2;
  const error = Math.sqrt((squares / free / spread) * ((1 + r) / (1 - r)));
  // Student's quantile of 0.975, to 1 %.
  const reach = (1.96 + 2.4 / free + 2.3 / free ** 2) * error;
  const from = middle + perStep * (first - center);
  return { from, to: from + gain, gain, low: gain - reach, high: gain + reach };
}

/** Bounds this many times as wide hold the true gain in 99 of 100 cases. */
const SURE = 1.33;

/** The direction that a line surely has. The bounds of one log in 20 miss its gain: to claim one takes a third more. */
export function directionOf({ gain, low, high }: Gain): 'rises' | 'falls' | undefined {
  if (low <= 0 && high >= 0) return undefined;
  const isSure = Math.abs(gain) > SURE * (high - gain);
  return isSure ? (gain > 0 ? 'rises' : 'falls') : undefined;
}

/** Difference of the criterion of Schwarz (BIC) that counts as very strong. */
const VERY_STRONG = 10;

/** Whether a straight line fits 8 values or more clearly better than any two levels do, one after the other. */
export function isStraight(values: readonly number[], at: readonly number[]): boolean {
  const count = values.length;
  if (count < 8) return false;
  const middle = mean(values);
  const places = mean(at);
  const perStep = slope(values, at).slope;
  const ofLine = sum(values.map((value, i) => (value - middle - perStep * (at[i]! - places)) ** 2));
  const total = sum(values.map((value) => (value - middle) ** 2));
  // Two levels leave the squares without those between their means.
  let [before, between] = [0, 0];
  for (let i = 1; i < count; i++) {
    before += values[i - 1]! - middle;
    between = Math.max(between, before ** 2 * (1 / i + 1 / (count - i)));
  }
  const ofLevels = total - between;
  return ofLevels > ofLine && count * Math.log(ofLevels / ofLine) > VERY_STRONG;
}

/** Whether 5 values or more surely fall by their places: t < −2, of fewer than 10 t < −3. */
export function falls(values: ArrayLike<number>, at: readonly number[]): boolean {
  const { count, t } = slope(values, at);
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
