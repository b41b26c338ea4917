import { expect, it } from 'vitest';
import { tokenTexts } from './token-text.js';

const piece = (text: string, special?: true) => ({
  text,
  bytes: new TextEncoder().encode(text),
  ...(special && { special }),
});

const texts = tokenTexts(
  new Map([
    [1, piece(' the')],
    [2, piece('\n\n')],
    [3, piece('<eos>', true)],
    [4, { text: '\uFFFD', bytes: Uint8Array.of(0xe2, 0x80) }],
    [5, piece('\uFFFD')],
    [6, piece('\u202Eabc\u0000')],
    [7, piece('漢字')],
    [8, piece('x'.repeat(10_000_000))],
    [9, piece('')],
  ]),
);

it('shows white space, bytes and what cannot be seen', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 9, 99, undefined].map((id) => texts(id).shown)).toEqual([
    '·the',
    '⏎⏎',
    '<eos>',
    '⟨e2 80⟩',
    '\uFFFD',
    '⟨U+202E⟩abc␀',
    '漢字',
    '∅',
    '#99',
    '?',
  ]);
});

it('counts columns, ends lines, and cuts what is long', () => {
  expect([texts(1).width, texts(7).width]).toEqual([4, 4]);
  expect([texts(2).endsLine, texts(1).endsLine]).toEqual([true, false]);
  expect(texts(8).width).toBe(48);
  expect(texts(3).kind).toBe('special');
});
