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

/** Mean and deviation of the values that are numbers; `ddof` is taken from what the sum of squares is divided by. */
export function statistics(values: Float64Array, ddof: 0 | 1 = 1): Statistics {
  const known = values.filter((x) => !Number.isNaN(x));
  const count = known.length;
  const mean = known.reduce((a, b) => a + b, 0) / count;
  const [least, most] = known.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]);
  const equal = !(most - least > ROUNDING * Math.max(Math.abs(least), Math.abs(most)));
  if (equal) return { count, mean: count > 0 ? known[0]! : Number.NaN, deviation: 0, equal };
  const squares = known.reduce((sum, x) => sum + (x - mean) ** 2, 0);
  return { count, mean, deviation: Math.sqrt(squares / (count - ddof)), equal };
}
