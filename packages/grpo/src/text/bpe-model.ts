import { FormatError } from '../errors/format-error.js';
import { excerpt } from '../errors/printable.js';
import { describeJson, isObject } from '../formats/json.js';

/** The `model` of a `tokenizer.json`, as far as it is checked here. */
export interface BpeModel {
  vocab: Record<string, number>;
  [field: string]: unknown;
}

const FLAGS = ['fuse_unk', 'byte_fallback', 'ignore_merges'];
const TEXTS = ['unk_token', 'continuing_subword_prefix', 'end_of_word_suffix'];

/**
 * Checks a BPE model: the engine would take a wrong one without a word, or fail on it in its own terms.
 * @throws FormatError with the token or the merge.
 */
export function checkModel(file: string, model: Record<string, unknown>): BpeModel {
  const { vocab, merges } = model;
  if (!isObject(vocab))
    throw new FormatError(file, `model.vocab must be an object of token: id, found ${describeJson(vocab)}`);
  for (const [token, id] of Object.entries(vocab)) {
    if (typeof id === 'number' && Number.isSafeInteger(id) && id >= 0) continue;
    const problem = `model.vocab: ${excerpt(token)} has the id ${describeJson(id)}; ids are whole numbers from 0`;
    throw new FormatError(file, problem);
  }
  for (const name of FLAGS) {
    if (typeof (model[name] ?? false) === 'boolean') continue;
    throw new FormatError(file, `model.${name} must be true or false, found ${describeJson(model[name])}`);
  }
  for (const name of TEXTS) {
    if (typeof (model[name] ?? '') === 'string') continue;
    throw new FormatError(file, `model.${name} must be text, found ${describeJson(model[name])}`);
  }
  if (!Array.isArray(merges))
    throw new FormatError(file, `model.merges must be a list, found ${describeJson(merges)}`);
  const inPairs = Array.isArray(merges[0]);
  for (const [i, merge] of merges.entries()) checkMerge(file, { i, merge, inPairs, vocab });
  return { ...model, vocab: vocab as Record<string, number> };
}

/** A merge is two tokens, as a list or, in older files, with a space between; all of one kind. */
function checkMerge(
  file: string,
  { i, merge, inPairs, vocab }: { i: number; merge: unknown; inPairs: boolean; vocab: object },
): void {
  const parts: unknown = !inPairs && typeof merge === 'string' ? merge.split(' ') : merge;
  const isPair =
    Array.isArray(parts) && parts.length === 2 && parts.every((part) => typeof part === 'string');
  if (!isPair || inPairs !== Array.isArray(merge)) {
    const form = inPairs ? 'a list of two tokens, as the first one is' : 'two tokens with a space between';
    throw new FormatError(
      file,
      `model.merges: number ${i + 1} must be ${form}, found ${describeJson(merge)}`,
    );
  }
  const [left, right] = parts as [string, string];
  const missing = [left, right, left + right].find((token) => !Object.hasOwn(vocab, token));
  if (missing === undefined) return;
  const problem = `model.merges: number ${i + 1}, ${describeJson(merge)}, needs ${excerpt(missing)}, which the vocabulary lacks`;
  throw new FormatError(file, problem);
}

/** @throws FormatError when two texts have one id, or one text two: decoding would be a guess. */
export function requireOneTextPerId(
  file: string,
  { vocab }: BpeModel,
  added: Iterable<{ content: string; id: number }>,
): void {
  const textOf = new Map<number, string>();
  const put = (text: string, id: number) => {
    const other = textOf.get(id) ?? text;
    if (other !== text)
      throw new FormatError(file, `the id ${id} is given twice: to ${excerpt(other)} and ${excerpt(text)}`);
    textOf.set(id, text);
  };
  for (const [text, id] of Object.entries(vocab)) put(text, id);
  for (const { content, id } of added) {
    put(content, id);
    if (!Object.hasOwn(vocab, content) || vocab[content] === id) continue;
    const problem = `${excerpt(content)} has two ids: ${vocab[content]} in the vocabulary, ${id} as an added token`;
    throw new FormatError(file, problem);
  }
}
