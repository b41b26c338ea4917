/** The sampling support of tokens in a record: for each token the ids that it could have been drawn from. */
import { TokenSets } from '../formats/token-sets.js';
import { rowsOf } from './arrays.js';
import type { StepRecord } from './record.js';

type SupportRecord = NonNullable<NonNullable<StepRecord['completions']>['support']>;

/**
 * The supports of completions as a record holds them; undefined where none has one.
 *
 * @param lengths - tokens of each completion
 */
export function supportRecordOf(
  supports: readonly (TokenSets | undefined)[],
  lengths: ArrayLike<number>,
): SupportRecord | undefined {
  if (!supports.some((own) => own)) return undefined;
  return {
    sizes: Int32Array.from(supports, (own) => own?.data.length ?? 0),
    lengths: Int32Array.from(
      supports.flatMap((own, b) => (own ? [...own.lengths] : Array<number>(lengths[b]!).fill(0))),
    ),
    data: TokenSets.concat(supports.flatMap((own) => own ?? [])).data,
  };
}

/**
 * The support of each completion; undefined for one that was drawn from the whole vocabulary. undefined where the record
 * does not have them.
 *
 * @throws UserError where the bytes are no sets of ids
 */
export function supportsOf({ completions }: StepRecord): (TokenSets | undefined)[] | undefined {
  const { sizes, lengths, data } = completions?.support ?? {};
  if (!sizes || !lengths || !data || !completions?.lengths) return undefined;
  const sets = rowsOf(data, sizes);
  return rowsOf(lengths, completions.lengths).map((own, b) =>
    sizes[b]! > 0 ? TokenSets.fromBytes(own, sets[b]!) : undefined,
  );
}
