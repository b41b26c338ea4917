/** How the bytes of a log make text: UTF-8, UTF-16 as PowerShell writes it, or gzip of either. */
import { TextDecoder } from 'node:util';
import { constants, gunzipSync } from 'node:zlib';
import { FormatError } from '../../errors/format-error.js';

const MOST_UNPACKED_BYTES = 2 ** 29;

export const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

/** What reads a text that begins with these bytes. */
export function decoderOf(bytes: Uint8Array): TextDecoder {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le');
  return new TextDecoder(first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8');
}

/**
 * What a gzip file holds, or as much of it as is there.
 *
 * @throws FormatError for a file that is none
 */
export function gunzipped(path: string, bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, {
      maxOutputLength: MOST_UNPACKED_BYTES,
      // The beginning of a file is read, too, and so is one that a crash cut off.
      finishFlush: constants.Z_SYNC_FLUSH,
    });
  } catch (cause) {
    throw new FormatError(path, `a gzip file that cannot be unpacked: ${(cause as Error).message}`, {
      cause,
    });
  }
}
