/** A token as it stands in the strip: its white space, its bytes and what cannot be seen are made visible. */
import type { CompletionAnswer } from 'grpo/studio';
import { visible } from './safe-text.js';

type Pieces = CompletionAnswer['pieces'];

export interface TokenText {
  shown: string;
  /** Columns of the fixed-width font. */
  width: number;
  /** Whether the line ends after it. */
  endsLine: boolean;
  kind: 'text' | 'special' | 'bytes' | 'id';
}

/** A token of more columns is cut; the card shows all of it. */
const MOST_COLUMNS = 48;

/** The texts of a completion's tokens, each made once. */
export function tokenTexts(pieces: Pieces): (id: number | undefined) => TokenText {
  const made = new Map<number | undefined, TokenText>();
  return (id) => {
    const known = made.get(id);
    if (known) return known;
    const text = textOf(id, pieces);
    made.set(id, text);
    return text;
  };
}

function textOf(id: number | undefined, pieces: Pieces): TokenText {
  const piece = id === undefined ? undefined : pieces.get(id);
  const make = (shown: string, kind: TokenText['kind'], endsLine = false): TokenText => {
    const short = shown.length > MOST_COLUMNS ? `${shown.slice(0, MOST_COLUMNS - 1)}…` : shown;
    return { shown: short, width: columnsOf(short), endsLine, kind };
  };
  if (!piece) return make(id === undefined ? '?' : `#${id}`, 'id');
  if (piece.special) return make(visible(piece.text), 'special');
  if (isPartOfCharacter(piece)) return make(`⟨${hex(piece.bytes)}⟩`, 'bytes');
  return make(shownText(piece.text), 'text', piece.text.endsWith('\n'));
}

/** A space is `·`, a newline `⏎`, a tab `⇥`. */
export const shownText = (text: string): string =>
  text === ''
    ? '∅'
    : visible(text.slice(0, 2 * MOST_COLUMNS))
        .replaceAll(' ', '·')
        .replaceAll('\n', '⏎')
        .replaceAll('\t', '⇥');

/** Bytes that are no text by themselves: a character of several tokens. */
function isPartOfCharacter({ text, bytes }: { text: string; bytes: Uint8Array }): boolean {
  return text.includes('\uFFFD') && !hex(bytes).includes('ef bf bd');
}

export const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');

/** Characters of East Asia and pictures take two columns. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Extended_Pictographic}\uFF01-\uFF60]/u;

function columnsOf(text: string): number {
  let columns = 0;
  for (const char of text) columns += WIDE.test(char) ? 2 : 1;
  return columns;
}
