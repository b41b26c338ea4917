import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FormatError } from '../errors/format-error.js';
import { decodeUtf8 } from './utf8.js';

function refusal(bytes: Uint8Array, line?: number): string {
  try {
    decodeUtf8('f', 'the text', bytes, line);
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    return (error as Error).message;
  }
  throw new Error('the bytes were decoded');
}

describe('decodeUtf8', () => {
  it('gives any text back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(decodeUtf8('f', 'the text', Buffer.from(text))).toBe(text);
      }),
    );
  });

  it('names the first byte of the first sequence that is wrong', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 3 }),
    );
    let wrong = 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const bytes = Buffer.concat(pieces);
        if (isUtf8(bytes)) return;
        wrong++;
        const valid = Array.from({ length: bytes.length }, (_, end) => end).filter((end) =>
          isUtf8(bytes.subarray(0, end)),
        );
        const at = valid.at(-1)!;
        const value = bytes[at]!.toString(16).padStart(2, '0');
        // Two wrong first bytes are reported as another kind of file.
        if (at > 1)
          expect(refusal(bytes, 7)).toContain(
            `f:7: the text is not valid UTF-8: byte ${at + 1} is 0x${value};`,
          );
      }),
      { numRuns: 1000 },
    );
    expect(wrong).toBeGreaterThan(100);
  });

  it('counts lines where the text has several', () => {
    const bytes = Buffer.from('a\nb\nc\xe9\n', 'latin1');
    expect(refusal(bytes)).toBe(
      'f: the text is not valid UTF-8: line 3, byte 2 is 0xe9; save the file as UTF-8 text',
    );
  });

  it.each([
    ['gzip', [0x1f, 0x8b, 8], 'f: this is a gzip file; unpack it first (gunzip)'],
    ['UTF-16', [0xff, 0xfe, 0x41, 0], 'f: this is UTF-16 text; save it as UTF-8'],
    ['a cut sequence', [0x61, 0xe2, 0x82], 'f: the text is not valid UTF-8: line 1, byte 2 is 0xe2'],
  ])('tells what %s is', (_, bytes, message) => {
    expect(refusal(Uint8Array.from(bytes))).toContain(message);
  });
});
