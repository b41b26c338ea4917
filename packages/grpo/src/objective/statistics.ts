import { largest, moments, smallest } from '../maths/moments.js';

/** Relative: sums of the same parts in another order. */
const ROUNDING = 1e-12;

export interface Statistics {
  /** How many of the values are numbers. */
  count: number;
  /** NaN when there are none. */
  mean: number;
  deviation: number;
  /** No two differ by more than rounding; their deviation is exactly 0. */
  equal: boolean;
}

/** Mean and deviation of the values that are numbers; the sum of squares is divided by the count − `ddof`. */
export function statistics(values: Float64Array, ddof: 0 | 1 = 1): Statistics {
  const { count, mean, deviation } = moments(values, ddof);
  const [least, most] = [smallest(values), largest(values)];
  const equal = !(most - least > ROUNDING * Math.max(Math.abs(least), Math.abs(most)));
  // Rounding of the mean would leave a small bias of one sign.
  return equal
    ? { count, mean: values.find((x) => !Number.isNaN(x)) ?? Number.NaN, deviation: 0, equal }
    : { count, mean, deviation, equal };
}
