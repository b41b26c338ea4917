import { mean, sum } from './moments.js';

/** Ends of a 95 % confidence interval. */
export interface Interval {
  low: number;
  high: number;
}

/** 97.5 % quantile of the standard normal distribution. */
const Z = 1.959963984540054;

/**
 * Wilson's 95 % score interval of a proportion; unlike p ± 1.96 s it holds at 0 and 1 and for few observations.
 *
 * @param correct - need not be whole: {@link clusteredWilson} passes effective counts
 * @throws RangeError unless 0 ≤ correct ≤ total and total > 0
 */
export function wilson(correct: number, total: number): Interval {
  if (!(total > 0 && correct >= 0 && correct <= total)) {
    throw new RangeError(`wilson() needs 0 <= correct <= total and total > 0, got ${correct} of ${total}`);
  }
  const p = correct / total;
  const shrink = 1 + Z ** 2 / total;
  const centre = (p + Z ** 2 / (2 * total)) / shrink;
  const half = (Z / shrink) * Math.sqrt((p * (1 - p)) / total + Z ** 2 / (4 * total ** 2));
  // The exact ends at 0 and 1 are 0 and 1; rounding would leave 1e-17.
  return { low: correct === 0 ? 0 : centre - half, high: correct === total ? 1 : centre + half };
}

/**
 * The same for several completions per problem. Completions of one problem resemble each other, so the variance of the
 * share is that of a ratio of sums over problems, and the interval is Wilson's for as many independent observations as
 * would have that variance: no fewer than there are problems, no more than completions.
 *
 * @param counts - of each problem, the completions that count; need not be whole: pass@k passes expected ones
 * @param sizes - of each problem, its completions, 1 or more
 */
export function clusteredWilson(counts: readonly number[], sizes: readonly number[]): Interval {
  const problems = counts.length;
  const total = sum(sizes);
  const share = Math.min(sum(counts) / total, 1);
  const squares = sum(counts.map((count, i) => (count - share * sizes[i]!) ** 2));
  const variance = (squares / (problems - 1)) * (problems / total ** 2);
  // 0 / 0 when every completion counts or none does, or with one problem: then only the problems count.
  const independent = (share * (1 - share)) / variance || problems;
  const effective = Math.min(Math.max(independent, problems), total);
  return wilson(share * effective, effective);
}

/**
 * Student's 95 % interval of a mean of independent values; undefined for fewer than three and for equal ones, which
 * tell nothing of their spread.
 */
export function meanInterval(values: readonly number[]): Interval | undefined {
  const n = values.length;
  if (n < 3 || values.every((value) => value === values[0])) return undefined;
  const centre = mean(values);
  const squares = sum(values.map((value) => (value - centre) ** 2));
  const half = studentQuantile(n - 1) * Math.sqrt(squares / (n - 1) / n);
  return { low: centre - half, high: centre + half };
}

/**
 * 97.5 % quantile of Student's t, by its expansion in 1 / degrees of freedom (Abramowitz & Stegun, 26.7.5): within 1 %
 * from 2 degrees on.
 */
function studentQuantile(degrees: number): number {
  const terms = [
    Z,
    (Z ** 3 + Z) / 4,
    (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / 96,
    (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / 384,
    (79 * Z ** 9 + 776 * Z ** 7 + 1482 * Z ** 5 - 1920 * Z ** 3 - 945 * Z) / 92160,
  ];
  return sum(terms.map((term, power) => term / degrees ** power));
}
