/** Enough for a line of the width of a word. */
const MOST = 60;

/** At most 60 of the values, evenly spread, the last among them. */
export function thinned(values: readonly number[]): Float64Array {
  const count = Math.min(MOST, values.length);
  return Float64Array.from(
    { length: count },
    (_, i) => values[Math.floor(((i + 1) * values.length) / count) - 1]!,
  );
}
