import { FormatError } from '../errors/format-error.js';
import { excerpt } from '../errors/printable.js';
import { describeJson, isObject } from '../formats/json.js';

/** Byte-pair encoding: two neighbours become one token, the pair that stands first in the list before all others. */
export interface BpeModel {
  type: 'BPE';
  /** Token to id. */
  vocab: Record<string, number>;
  /** Pairs of tokens, the earliest first; the vocabulary has both and what they make. */
  merges: readonly (readonly [string, string])[];
  /** Stands for a character that the vocabulary lacks; without it such a character is left out. */
  unk_token?: string;
  /** Whether neighbouring unknown characters of a word are one unknown token. */
  fuse_unk: boolean;
  /** Whether a character that the vocabulary lacks becomes its bytes, tokens like `<0xE2>`. */
  byte_fallback: boolean;
  /** Whether a word that the vocabulary has is that token, whatever the merges say. */
  ignore_merges: boolean;
}

/** Unigram: of all ways to cut a text into pieces, the one whose scores add up to the most. */
export interface UnigramModel {
  type: 'Unigram';
  /** Pieces with their scores, log-probabilities; a piece's place is its id. */
  vocab: readonly (readonly [piece: string, score: number])[];
  /** The piece that stands for what no piece spells. */
  unk_id?: number | null;
  /** Whether what no piece spells becomes its bytes, pieces like `<0xE2>`. */
  byte_fallback: boolean;
}

/** The `model` of a `tokenizer.json`, checked. */
export type TokenizerModel = BpeModel | UnigramModel;

const FLAGS = ['fuse_unk', 'byte_fallback', 'ignore_merges'] as const;
/** What some vocabularies put in front of a character within a word, and behind a word's last. */
const AFFIXES = ['continuing_subword_prefix', 'end_of_word_suffix'] as const;

/**
 * Checks a model. Files of older versions give no type: a list of pieces is Unigram's, merges are BPE's.
 * @throws FormatError with the token, the piece or the merge; for any other kind of model.
 */
export function checkModel(file: string, model: Record<string, unknown>): TokenizerModel {
  const type = model.type ?? (Array.isArray(model.merges) ? 'BPE' : undefined);
  if (type === 'BPE') return checkBpe(file, model);
  if (type === 'Unigram' || (type === undefined && Array.isArray(model.vocab)))
    return checkUnigram(file, model);
  throw new FormatError(
    file,
    `this is a tokenizer of model ${excerpt(String(type ?? 'none'))}; supported are BPE and Unigram`,
  );
}

/** The ids of a model's tokens. Of a large vocabulary this takes a moment. */
export function tokensOf(model: TokenizerModel): Map<string, number> {
  if (model.type === 'Unigram') return new Map(model.vocab.map(([piece], id) => [piece, id]));
  const ids = new Map<string, number>();
  // Object.entries takes three times as long.
  for (const token of Object.keys(model.vocab)) ids.set(token, model.vocab[token]!);
  return ids;
}

function checkBpe(file: string, model: Record<string, unknown>): BpeModel {
  const { vocab, merges, unk_token: unk = null } = model;
  if (!isObject(vocab))
    throw new FormatError(file, `model.vocab must be an object of token: id, found ${describeJson(vocab)}`);
  for (const token of Object.keys(vocab)) {
    const id = vocab[token];
    if (typeof id === 'number' && Number.isSafeInteger(id) && id >= 0) continue;
    const problem = `model.vocab: ${excerpt(token)} has the id ${describeJson(id)}; ids are whole numbers from 0`;
    throw new FormatError(file, problem);
  }
  if (unk !== null && typeof unk !== 'string')
    throw new FormatError(file, `model.unk_token must be text, found ${describeJson(unk)}`);
  const affix = AFFIXES.find((name) => (model[name] ?? '') !== '');
  if (affix !== undefined)
    throw new FormatError(file, `model.${affix} is ${describeJson(model[affix])}, which is not supported`);
  if (!Array.isArray(merges))
    throw new FormatError(file, `model.merges must be a list, found ${describeJson(merges)}`);
  const inPairs = Array.isArray(merges[0]);
  return {
    type: 'BPE',
    vocab: vocab as Record<string, number>,
    merges: merges.map((merge: unknown, i) => checkMerge(file, { i, merge, inPairs, vocab })),
    ...(unk !== null && { unk_token: unk }),
    ...flagsOf(file, model),
  };
}

function flagsOf(file: string, model: Record<string, unknown>): Pick<BpeModel, (typeof FLAGS)[number]> {
  const [fuse_unk, byte_fallback, ignore_merges] = FLAGS.map((name) => {
    const value = model[name] ?? false;
    if (typeof value === 'boolean') return value;
    throw new FormatError(file, `model.${name} must be true or false, found ${describeJson(value)}`);
  }) as [boolean, boolean, boolean];
  return { fuse_unk, byte_fallback, ignore_merges };
}

/** A merge is two tokens, as a list or, in older files, with a space between; all of one kind. */
function checkMerge(
  file: string,
  { i, merge, inPairs, vocab }: { i: number; merge: unknown; inPairs: boolean; vocab: object },
): [string, string] {
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
  if (missing === undefined) return [left, right];
  const problem = `model.merges: number ${i + 1}, ${describeJson(merge)}, needs ${excerpt(missing)}, which the vocabulary lacks`;
  throw new FormatError(file, problem);
}

function checkUnigram(file: string, model: Record<string, unknown>): UnigramModel {
  const { vocab, unk_id = null, byte_fallback = false } = model;
  if (!Array.isArray(vocab) || vocab.length === 0)
    throw new FormatError(
      file,
      `model.vocab must be a list of [piece, score], found ${Array.isArray(vocab) ? 'an empty one' : describeJson(vocab)}`,
    );
  for (const [i, entry] of vocab.entries()) {
    const [piece, score] = Array.isArray(entry) ? (entry as unknown[]) : [];
    if (typeof piece === 'string' && Number.isFinite(score)) continue;
    throw new FormatError(
      file,
      `model.vocab: number ${i + 1} must be [piece, score], found ${describeJson(entry)}`,
    );
  }
  if (new Set(vocab.map((entry) => (entry as [string])[0])).size < vocab.length)
    throw new FormatError(file, 'model.vocab has a piece twice');
  if (typeof byte_fallback !== 'boolean')
    throw new FormatError(
      file,
      `model.byte_fallback must be true or false, found ${describeJson(byte_fallback)}`,
    );
  if (unk_id !== null && !(Number.isInteger(unk_id) && vocab[unk_id as number] !== undefined))
    throw new FormatError(
      file,
      `model.unk_id must be the id of one of the ${vocab.length} pieces, found ${describeJson(unk_id)}`,
    );
  return {
    type: 'Unigram',
    vocab: vocab as [string, number][],
    unk_id: unk_id as number | null,
    byte_fallback,
  };
}

/**
 * @param ids those of the model
 * @throws FormatError when two texts have one id, or one text two: decoding would be a guess
 */
export function requireOneTextPerId(
  file: string,
  ids: ReadonlyMap<string, number>,
  added: Iterable<{ content: string; id: number }>,
): void {
  const textOf = new Map<number, string>();
  const put = (text: string, id: number) => {
    const other = textOf.get(id);
    if (other !== undefined && other !== text)
      throw new FormatError(file, `the id ${id} is given twice: to ${excerpt(other)} and ${excerpt(text)}`);
    textOf.set(id, text);
  };
  for (const [text, id] of ids) put(text, id);
  for (const { content, id } of added) {
    put(content, id);
    const own = ids.get(content);
    if (own === undefined || own === id) continue;
    const problem = `${excerpt(content)} has two ids: ${own} in the vocabulary, ${id} as an added token`;
    throw new FormatError(file, problem);
  }
}
