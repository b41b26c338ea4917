import { joinRows } from '../maths/lists.js';
import type { Tokenizer } from '../text/tokenizer.js';
import type { StepRecord } from '../trace/index.js';

/** The tokens of some lists of ids, ascending, with their bytes: who reads the record need not have the tokenizer. */
export function tokenPieces(
  tokenizer: Pick<Tokenizer, 'bytesOf'>,
  lists: Iterable<ArrayLike<number>>,
): NonNullable<NonNullable<StepRecord['tokenizer']>['pieces']> {
  const found = new Set<number>();
  for (const ids of lists) for (let i = 0; i < ids.length; i++) found.add(ids[i]!);
  const ids = Int32Array.from(found).sort();
  const pieces = Array.from(ids, (id) => tokenizer.bytesOf(id));
  return {
    ids,
    bytes: joinRows(Uint8Array, pieces),
    lengths: Int32Array.from(pieces, ({ length }) => length),
  };
}
