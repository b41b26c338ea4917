import { byteAlphabet } from '../byte-alphabet.js';
import type { PreTokenizer } from '../tokenizer-parts.js';
import { regExpOf } from './pattern.js';

/** A stretch of a text that no added token takes. */
export interface Section {
  text: string;
  /** Whether the whole text begins with it. */
  isFirst: boolean;
}

/** GPT-2's way of cutting words. */
const WORDS =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

const ALPHABET = byteAlphabet();

/** What cuts a section into words, in order. @throws SyntaxError for a pattern that JavaScript cannot express */
export function preTokenizerOf(parts: readonly PreTokenizer[]): (section: Section) => Section[] {
  const steps = parts.map(stepOf);
  return (section) => steps.reduce((sections, step) => sections.flatMap(step), [section]);
}

function stepOf(part: PreTokenizer): (section: Section) => Section[] {
  switch (part.type) {
    case 'ByteLevel': {
      const { add_prefix_space, use_regex } = part;
      return ({ text, isFirst }) => {
        const spaced = add_prefix_space && !text.startsWith(' ') ? ` ${text}` : text;
        const words = use_regex
          ? cut({ text: spaced, isFirst }, WORDS, ISOLATED)
          : [{ text: spaced, isFirst }];
        return words.map((word) => ({ ...word, text: inAlphabet(word.text) }));
      };
    }
    case 'Split': {
      const pattern = regExpOf(part.pattern);
      return (section) => cut(section, pattern, part);
    }
    case 'Digits': {
      const behavior = part.individual_digits ? 'Isolated' : 'Contiguous';
      return (section) => cut(section, /\p{N}/gu, { behavior, invert: false });
    }
    case 'WhitespaceSplit':
      return (section) => cut(section, /\p{White_Space}/gu, { behavior: 'Removed', invert: false });
    case 'Metaspace': {
      const { replacement, prepend_scheme, split } = part;
      const pattern = regExpOf({ String: replacement });
      return ({ text, isFirst }) => {
        const marked = text.replaceAll(' ', () => replacement);
        const wants = prepend_scheme === 'always' || (prepend_scheme === 'first' && isFirst);
        const section = {
          text: wants && !marked.startsWith(replacement) ? replacement + marked : marked,
          isFirst,
        };
        return split ? cut(section, pattern, { behavior: 'MergedWithNext', invert: false }) : [section];
      };
    }
  }
}

type Cut = Pick<Extract<PreTokenizer, { type: 'Split' }>, 'behavior' | 'invert'>;
const ISOLATED: Cut = { behavior: 'Isolated', invert: false };

/** Cuts a section at the matches of a pattern: a match stands alone, goes, or belongs to what is before or behind it. */
function cut({ text, isFirst }: Section, pattern: RegExp, { behavior, invert }: Cut): Section[] {
  const pieces: { start: number; end: number; isMatch: boolean }[] = [];
  let last = 0;
  for (const { index, 0: found } of text.matchAll(pattern)) {
    if (last < index) pieces.push({ start: last, end: index, isMatch: invert });
    last = index + found.length;
    pieces.push({ start: index, end: last, isMatch: !invert });
  }
  if (last < text.length) pieces.push({ start: last, end: text.length, isMatch: invert });
  return joined(pieces, behavior)
    .filter(({ start, end }) => start < end)
    .map(({ start, end }) => ({ text: text.slice(start, end), isFirst: isFirst && start === 0 }));
}

interface Piece {
  start: number;
  end: number;
  isMatch: boolean;
}

function joined(pieces: Piece[], behavior: Cut['behavior']): Piece[] {
  switch (behavior) {
    case 'Isolated':
      return pieces;
    case 'Removed':
      return pieces.filter(({ isMatch }) => !isMatch);
    case 'Contiguous':
      return joinedWhere(pieces, (piece, before) => piece.isMatch === before.isMatch);
    case 'MergedWithPrevious':
      return joinedWhere(pieces, (piece, before) => piece.isMatch && !before.isMatch);
    case 'MergedWithNext':
      return joinedWhere(pieces, (piece, before) => before.isMatch && !piece.isMatch);
  }
}

/** Joins each piece to the one before it where the two, as they were cut, ask for it. */
function joinedWhere(pieces: Piece[], joins: (piece: Piece, before: Piece) => boolean): Piece[] {
  const result: Piece[] = [];
  for (const [i, piece] of pieces.entries()) {
    if (i > 0 && joins(piece, pieces[i - 1]!)) result.at(-1)!.end = piece.end;
    else result.push({ ...piece });
  }
  return result;
}

function inAlphabet(text: string): string {
  let result = '';
  for (const byte of Buffer.from(text)) result += ALPHABET[byte]!;
  return result;
}
