/** The metrics that a logged loss is a sum of, and their factors. */
import { leastSquares } from '../../maths/least-squares.js';
import { sum } from '../../maths/moments.js';

/** Fewest entries that show what the loss is made of. */
export const FEWEST_PARTS = 8;

/** Share of a part of the loss that a metric need not explain: the two may be means over other tokens. */
export const NEAR = 0.05;

/**
 * The factors of two metrics whose sum the values are: of one alone where that does, else of both. A metric that is missing,
 * or makes little of the values, has the factor 0.
 */
export function partsOf(
  values: Float64Array,
  metrics: readonly [Float64Array, Float64Array],
): { weights: number[]; entries: number } | undefined {
  for (const used of [[0], [1], [0, 1]]) {
    const known = [...values.keys()].filter((i) =>
      used.every((m) => Number.isFinite(values[i]! * metrics[m]![i]!)),
    );
    const at = (column: Float64Array) => known.map((i) => column[i]!);
    const [own, columns] = [at(values), used.map((m) => at(metrics[m]!))];
    const sizes = own.map(Math.abs);
    if (known.length < FEWEST_PARTS) continue;
    const factors = leastSquares(own, columns);
    const off = own.map((value, n) => value - sum(factors.map((factor, m) => factor * columns[m]![n]!)));
    const level = sum(own) / own.length;
    const left = sum(off.map((x) => x * x)) / sum(own.map((x) => (x - level) ** 2));
    // The level alone may be another part's: its changes are to be explained as well.
    if (!(sum(off.map(Math.abs)) <= NEAR * sum(sizes) && left <= NEAR)) continue;
    const weights = [0, 0];
    for (const [m, factor] of factors.entries())
      if (Math.abs(factor) * sum(columns[m]!.map(Math.abs)) > 0.1 * sum(sizes)) weights[used[m]!] = factor;
    return { weights, entries: known.length };
  }
  return undefined;
}
