/** Sums, means and deviations of plain numbers. */

/** Sum of the values, in their order. */
export function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i]!;
  return total;
}

/** Mean of the values; NaN of none. */
export const mean = (values: ArrayLike<number>): number => sum(values) / values.length;

/** Mean of the numbers, and their standard deviation with `n − ddof`, both NaN of none; NaN values are left out. */
export function moments(
  values: ArrayLike<number>,
  ddof: number,
): { mean: number; deviation: number; count: number } {
  let [count, total] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i]!)) continue;
    count++;
    total += values[i]!;
  }
  const centre = total / count;
  let squares = 0;
  for (let i = 0; i < values.length; i++)
    if (!Number.isNaN(values[i]!)) squares += (values[i]! - centre) ** 2;
  const deviation = count > 0 ? Math.sqrt(squares / (count - ddof)) : Number.NaN;
  return { mean: centre, deviation, count };
}

/** Whether all numbers are one number; NaN values are left out. */
export function isFlat(values: ArrayLike<number>): boolean {
  let first: number | undefined;
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i]!)) continue;
    first ??= values[i]!;
    if (values[i] !== first) return false;
  }
  return true;
}

/** How many values are not 0: of a mask, the tokens that enter the loss. */
export function nonzero(values: ArrayLike<number>): number {
  let count = 0;
  for (let i = 0; i < values.length; i++) if (values[i] !== 0) count++;
  return count;
}

/** The largest of any number of values; −Infinity of none, NaN values left out. */
export function largest(values: ArrayLike<number>): number {
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) if (values[i]! > most) most = values[i]!;
  return most;
}

/** The smallest of any number of values; Infinity of none, NaN values left out. */
export function smallest(values: ArrayLike<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < values.length; i++) if (values[i]! < least) least = values[i]!;
  return least;
}

/** The values that are not NaN. */
export function withoutNaN(values: ArrayLike<number>): number[] {
  const numbers: number[] = [];
  for (let i = 0; i < values.length; i++) if (!Number.isNaN(values[i]!)) numbers.push(values[i]!);
  return numbers;
}
