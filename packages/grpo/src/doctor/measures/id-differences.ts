/** Where the ids that were scored are not those that were sampled. */
import { firstDifference } from '../../maths/lists.js';

/** Rows of which some id differs, with the first place. */
export function differences(sampled: readonly Int32Array[], scored: readonly Int32Array[]) {
  return sampled.flatMap((own, row) => {
    const other = scored[row]!;
    const token = firstDifference(own, other);
    if (token === undefined) return [];
    return [{ row, token, values: { sampled: own[token] ?? 'nothing', scored: other[token] ?? 'nothing' } }];
  });
}
