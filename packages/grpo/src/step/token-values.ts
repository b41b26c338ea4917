/** Values of all tokens, completion after completion. */
export function join(values_B: readonly Float32Array[]): Float32Array {
  const joined = new Float32Array(values_B.reduce((sum, values) => sum + values.length, 0));
  let start = 0;
  for (const values of values_B) {
    joined.set(values, start);
    start += values.length;
  }
  return joined;
}

/** The inverse of `join`. */
export function cut(values: Float32Array, lengths: readonly number[]): Float32Array[] {
  let start = 0;
  return lengths.map((length) => {
    start += length;
    return values.slice(start - length, start);
  });
}
