import { UserError } from '../../errors/user-error.js';
import { describeJson } from '../../formats/json.js';

/**
 * Every id that may end a turn: those of the first source that names any.
 *
 * @param sources - `eos_token_id` as each file has it, the most specific first: one id, a list, or nothing
 * @param own - the tokenizer's end token; it comes first, since it is the one that training appends
 * @throws UserError: no source names an id, or one is not the id of a row of the embedding.
 */
export function endIds(
  sources: readonly { file: string; value: unknown }[],
  own: number | undefined,
  vocabSize: number,
): ReadonlySet<number> {
  const lists = sources.map(({ file, value }) => ({ file, ids: [value ?? []].flat() }));
  const found = lists.find(({ ids }) => ids.length > 0);
  if (!found) {
    const files = sources.map(({ file }) => file).join(', ');
    throw new UserError(`no end token: none of these names an eos_token_id: ${files}`, {
      hint: 'set eos_token_id in generation_config.json; without it no completion can end',
    });
  }
  const ids = found.ids.map((id) => {
    if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < vocabSize) return id;
    throw new UserError(
      `${found.file}: eos_token_id must be an id below ${vocabSize}, the model's vocabulary, or a list of such; found ${describeJson(id)}`,
    );
  });
  return new Set(own !== undefined && ids.includes(own) ? [own, ...ids] : ids);
}
