/** Where the ids that were scored are not those that were sampled. */

/** Rows of which some id differs, with the first place. */
export function differences(sampled: readonly Int32Array[], scored: readonly Int32Array[]) {
  return sampled.flatMap((own, row) => {
    const other = scored[row]!;
    const token = firstDifference(own, other);
    if (token === undefined) return [];
    return [{ row, token, values: { sampled: own[token] ?? 'nothing', scored: other[token] ?? 'nothing' } }];
  });
}

/** The first index at which two lists differ; the shorter's length when one begins with the other. */
function firstDifference(a: ArrayLike<number>, b: ArrayLike<number>): number | undefined {
  const most = Math.max(a.length, b.length);
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return i;
  return undefined;
}
