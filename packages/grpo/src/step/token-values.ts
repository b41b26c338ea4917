/** Values of all tokens, completion by completion: a copy for each. */
export function cut(values: Float32Array, lengths: readonly number[]): Float32Array[] {
  let start = 0;
  return lengths.map((length) => {
    start += length;
    return values.slice(start - length, start);
  });
}
