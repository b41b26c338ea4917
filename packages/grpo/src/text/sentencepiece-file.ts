import { FormatError } from '../errors/format-error.js';
import { excerpt, printable } from '../errors/printable.js';
import { known } from '../formats/known.js';
import { bytesAt, type Field, fieldsOf, integerAt, NotProtobuf, textAt } from '../formats/protobuf.js';
import { readWhole } from '../formats/read-file.js';
import type { AddedToken, TokenizerDefinition } from './tokenizer-definition.js';
import type { BpeModel, TokenizerModel } from './tokenizer-model.js';
import type { Decoder, Normalizer, PostProcessor } from './tokenizer-parts.js';

/** Ten times the largest. */
const MAX_BYTES = 2 ** 26;
/** What SentencePiece writes for a space. */
const MARK = '\u2581';

/** Numbers of the fields in SentencePiece's `sentencepiece_model.proto`. */
const MODEL = { pieces: 1, trainer: 2, normalizer: 3 } as const;
const PIECE = { text: 1, score: 2, kind: 3 } as const;
const TRAINER = { kind: 3, suffixes: 24, fallsBack: 35, unknown: 40, bos: 41, eos: 42, pad: 43 } as const;
const NORMALIZER = { charsmap: 2, prefix: 3, trims: 4, escapes: 5 } as const;
/** Kinds of pieces, and of models. */
const KINDS = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;
const UNIGRAM = 1;
const BPE = 2;

/** A SentencePiece model, as the tokenizer that it is. */
export interface SentencePieceFile {
  definition: TokenizerDefinition;
  /** The tokens that it names. */
  named: { bos_token?: string; eos_token?: string; pad_token?: string; unk_token?: string };
}

interface Piece {
  text: string;
  score: number;
  kind: number;
}

/**
 * Reads a `tokenizer.model` of SentencePiece.
 * @param legacy whether text behind an added token begins with a mark as the whole text does, as older versions of
 * transformers have it
 * @throws FileError; FormatError for a file that is none, or a model that would not be read exactly
 */
export function readSentencePiece(
  file: string,
  { legacy, addsBos }: { legacy: boolean; addsBos: boolean },
): SentencePieceFile {
  const bytes = readWhole(file, 'the tokenizer', MAX_BYTES);
  const refuse = (problem: string): never => {
    throw new FormatError(
      file,
      `${problem}; let transformers write a tokenizer.json: python -c "from transformers import AutoTokenizer as T; T.from_pretrained('.').save_pretrained('.')" in this folder`,
    );
  };
  const { pieces, trainer, normalizer } = readModel(bytes, refuse);
  const texts = new Set(pieces.map(({ text }) => text));
  if (pieces.length === 0) refuse('it is no model of SentencePiece: it has no pieces');
  if (texts.size < pieces.length) refuse('it has a piece twice');
  const kind = integerAt(trainer, TRAINER.kind) ?? UNIGRAM;
  if (kind !== UNIGRAM && kind !== BPE) refuse('its model is neither BPE nor Unigram');
  const isOn = (fields: Field[], number: number, otherwise: boolean) =>
    (integerAt(fields, number) ?? Number(otherwise)) === 1;
  if (!isOn(normalizer, NORMALIZER.escapes, true) || isOn(trainer, TRAINER.suffixes, false))
    refuse('it writes spaces otherwise than as marks in front of words');
  if (pieces.some((piece) => piece.kind === KINDS.unused)) refuse('it has unused pieces');
  const fallsBack = isOn(trainer, TRAINER.fallsBack, false);
  const hasPrefix = isOn(normalizer, NORMALIZER.prefix, true);
  const odd = pieces.find(
    ({ text, kind }) =>
      kind === KINDS.userDefined && (text.includes(' ') || (hasPrefix && text.includes(MARK))),
  );
  if (odd) refuse(`its user-defined piece ${excerpt(odd.text)} has a space`);

  const textOf = (number: number, otherwise: number) => pieces[integerAt(trainer, number) ?? otherwise]?.text;
  const bosId = integerAt(trainer, TRAINER.bos) ?? 1;
  const bos = pieces[bosId]?.text;
  const named = {
    bos_token: bos,
    eos_token: textOf(TRAINER.eos, 2),
    pad_token: textOf(TRAINER.pad, -1),
    unk_token: textOf(TRAINER.unknown, 0),
  };
  const unknown = pieces.findIndex((piece) => piece.kind === KINDS.unknown);
  if (unknown < 0) refuse('it has no unknown piece');
  return {
    definition: {
      model: modelOf(pieces, { kind, fallsBack, unknown }),
      normalizer: normalizersOf(normalizer, {
        trims: isOn(normalizer, NORMALIZER.trims, true),
        prefixes: hasPrefix && legacy,
      }),
      pre_tokenizer:
        hasPrefix && !legacy
          ? [{ type: 'Metaspace', replacement: MARK, prepend_scheme: 'first', split: false }]
          : [],
      decoder: decodersOf({ fallsBack, hasPrefix }),
      post_processor: addsBos && bos !== undefined ? [beginningWith(bos, bosId)] : [],
      added_tokens: pieces.flatMap((piece, id) => addedToken(piece, id)),
    },
    named: known(named),
  };
}

function readModel(bytes: Uint8Array, refuse: (problem: string) => never) {
  try {
    const fields = [...fieldsOf(bytes)];
    const within = (number: number) => bytesAt(fields, number).flatMap((part) => [...fieldsOf(part)]);
    const pieces = bytesAt(fields, MODEL.pieces).map((part): Piece => {
      const piece = [...fieldsOf(part)];
      const score = piece.find(({ number }) => number === PIECE.score)?.value;
      return {
        text: textAt(piece, PIECE.text) ?? '',
        score: typeof score === 'object' && 'float' in score ? score.float : 0,
        kind: integerAt(piece, PIECE.kind) ?? KINDS.normal,
      };
    });
    return { pieces, trainer: within(MODEL.trainer), normalizer: within(MODEL.normalizer) };
  } catch (cause) {
    if (cause instanceof NotProtobuf)
      return refuse(`it is no model of SentencePiece (${printable(cause.message)})`);
    throw cause;
  }
}

function modelOf(
  pieces: readonly Piece[],
  { kind, fallsBack, unknown }: { kind: number; fallsBack: boolean; unknown: number },
): TokenizerModel {
  if (kind === UNIGRAM)
    return {
      type: 'Unigram',
      vocab: pieces.map(({ text, score }) => [text, score] as const),
      unk_id: unknown,
      byte_fallback: fallsBack,
    };
  return {
    type: 'BPE',
    vocab: Object.fromEntries(pieces.map(({ text }, id) => [text, id])),
    merges: mergesOf(pieces),
    unk_token: pieces[unknown]!.text,
    fuse_unk: true,
    byte_fallback: fallsBack,
    ignore_merges: false,
  };
}

/** SentencePiece merges the neighbours that make the piece of the highest score: all pairs that make one, by its score. */
function mergesOf(pieces: readonly Piece[]): BpeModel['merges'] {
  const ids = new Map(pieces.flatMap(({ text, kind }, id) => (kind === KINDS.normal ? [[text, id]] : [])));
  const merges: { pair: [string, string]; score: number; order: number }[] = [];
  for (const { text, score, kind } of pieces) {
    if (kind !== KINDS.normal) continue;
    for (let cut = 1; cut < text.length; cut++) {
      const [left, right] = [text.slice(0, cut), text.slice(cut)];
      const order = ids.get(left);
      if (order !== undefined && ids.has(right)) merges.push({ pair: [left, right], score, order });
    }
  }
  return merges.sort((a, b) => b.score - a.score || a.order - b.order).map(({ pair }) => pair);
}

function normalizersOf(
  fields: readonly Field[],
  { trims, prefixes }: { trims: boolean; prefixes: boolean },
): Normalizer[] {
  const charsmap = bytesAt(fields, NORMALIZER.charsmap).at(-1) ?? new Uint8Array();
  const parts: Normalizer[] = [];
  if (charsmap.length > 0)
    parts.push({ type: 'Precompiled', precompiled_charsmap: Buffer.from(charsmap).toString('base64') });
  if (trims)
    parts.push(
      { type: 'Replace', pattern: { Regex: '^ +| +$' }, content: '' },
      { type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' },
    );
  if (prefixes) parts.push({ type: 'Prepend', prepend: MARK });
  parts.push({ type: 'Replace', pattern: { String: ' ' }, content: MARK });
  return parts;
}

function decodersOf({ fallsBack, hasPrefix }: { fallsBack: boolean; hasPrefix: boolean }): Decoder[] {
  const parts: Decoder[] = [{ type: 'Replace', pattern: { String: MARK }, content: ' ' }];
  if (fallsBack) parts.push({ type: 'ByteFallback' });
  parts.push({ type: 'Fuse' });
  if (hasPrefix) parts.push({ type: 'Strip', content: ' ', start: 1, stop: 0 });
  return parts;
}

const beginningWith = (token: string, id: number): PostProcessor => ({
  type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: token } }, { Sequence: { id: 'A' } }],
  special_tokens: { [token]: { ids: [id] } },
});

/** Control pieces and user-defined ones are found in a text before the model sees it. */
function addedToken({ text, kind }: Piece, id: number): AddedToken[] {
  if (kind !== KINDS.control && kind !== KINDS.userDefined && kind !== KINDS.unknown) return [];
  return [
    {
      id,
      content: text,
      special: kind !== KINDS.userDefined,
      // A mark is one in the normalised text only.
      normalized: text.includes(MARK),
      single_word: false,
      lstrip: false,
      rstrip: false,
    },
  ];
}
