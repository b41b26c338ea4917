/** Number of times that a list begins with a value. */
export function countLeading<T>(list: ArrayLike<T>, value: T | undefined): number {
  let count = 0;
  while (count < list.length && list[count] === value) count++;
  return count;
}

/** Index of the first difference of two lists, the shorter's length when one begins with the other; undefined if they are equal. */
export function firstDifference<T>(a: ArrayLike<T>, b: ArrayLike<T>): number | undefined {
  const most = Math.max(a.length, b.length);
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return i;
  return undefined;
}

export const isSame = <T>(a: ArrayLike<T>, b: ArrayLike<T>): boolean => firstDifference(a, b) === undefined;

/** The rows in one array, one after another. */
export function joinRows<A extends Int32Array | Float32Array | Float64Array | Uint8Array>(
  kind: new (length: number) => A,
  rows: readonly ArrayLike<number>[],
): A {
  const joined = new kind(rows.reduce((count, { length }) => count + length, 0));
  let start = 0;
  for (const row of rows) {
    joined.set(row, start);
    start += row.length;
  }
  return joined;
}
