/** Small sums that several checks need. */

export function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i]!;
  return total;
}

export const mean = (values: ArrayLike<number>): number => sum(values) / values.length;

/** Mean of the numbers, and their standard deviation with `n − ddof`; NaN values are left out. */
export function moments(
  values: ArrayLike<number>,
  ddof: number,
): { mean: number; deviation: number; count: number } {
  const known = Array.from(values).filter((value) => !Number.isNaN(value));
  const centre = mean(known);
  const squares = sum(known.map((value) => (value - centre) ** 2));
  return { mean: centre, deviation: Math.sqrt(squares / (known.length - ddof)), count: known.length };
}

/** Whether all numbers are one number; values that are NaN do not count. */
export function isFlat(values: ArrayLike<number>): boolean {
  const known = Array.from(values).filter((value) => !Number.isNaN(value));
  return known.every((value) => value === known[0]);
}

/** Indices of the completions of each prompt, in the order of the prompts’ first appearance. */
export function groupsOf(promptOf: ArrayLike<number>): number[][] {
  const groups = new Map<number, number[]>();
  for (let b = 0; b < promptOf.length; b++) {
    const group = groups.get(promptOf[b]!);
    if (group) group.push(b);
    else groups.set(promptOf[b]!, [b]);
  }
  return [...groups.values()];
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
