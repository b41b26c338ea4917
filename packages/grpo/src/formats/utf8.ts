import { isUtf8 } from 'node:buffer';
import { FormatError } from '../errors/format-error.js';
import { otherKind } from './other-kind.js';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const NEWLINE = 0x0a;

/**
 * The text of UTF-8 bytes; a byte order mark stays.
 *
 * @param part - name of the bytes, for the message: `'the header'`
 * @param line - the line of the file that the bytes are; without it they may be several, and the message counts them
 * @throws FormatError with the place and the value of the first byte that is wrong
 */
export function decodeUtf8(file: string, part: string, bytes: Uint8Array, line?: number): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    const kind = line === undefined || line === 1 ? otherKind(bytes) : undefined;
    if (kind) throw new FormatError(file, `this is ${kind.name}; ${kind.remedy}`, { cause });
    const at = firstInvalid(bytes);
    const before = bytes.subarray(0, at);
    const value = `0x${bytes[at]?.toString(16).padStart(2, '0')}`;
    const place =
      line === undefined
        ? `line ${1 + before.filter((byte) => byte === NEWLINE).length}, byte ${at - before.lastIndexOf(NEWLINE)}`
        : `byte ${at + 1}`;
    const problem = `${part} is not valid UTF-8: ${place} is ${value}; save the file as UTF-8 text`;
    throw new FormatError(file, problem, { line, cause });
  }
}

/** Some editors put one at the beginning of a file. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** Where the first sequence begins that is not UTF-8. */
function firstInvalid(bytes: Uint8Array): number {
  // Prefixes are valid up to some length, if a sequence that their end cuts off is left out, and then never again.
  let [valid, invalid] = [0, bytes.length];
  while (valid < invalid) {
    const middle = Math.ceil((valid + invalid) / 2);
    if (wholeSequences(bytes, middle) === undefined) invalid = middle - 1;
    else valid = middle;
  }
  return wholeSequences(bytes, valid)!;
}

/** The length of a prefix without the one to three bytes of a sequence that may go on; undefined if it is no UTF-8. */
function wholeSequences(bytes: Uint8Array, length: number): number | undefined {
  for (let end = length; end >= 0 && end > length - 4; end--) if (isUtf8(bytes.subarray(0, end))) return end;
  return undefined;
}
