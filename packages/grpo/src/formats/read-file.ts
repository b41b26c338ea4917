/** Whole files into memory: only plain files, and only of a size that their kind can have. */
import { closeSync, fstatSync, openSync, type Stats, statSync } from 'node:fs';
import { byteCount } from '../errors/byte-count.js';
import { onFile } from '../errors/file-error.js';
import { FormatError } from '../errors/format-error.js';
import { readFully } from './file-io.js';
import { decodeUtf8, withoutByteOrderMark } from './utf8.js';

/**
 * The bytes of a file.
 *
 * @param part - name of the file, for the message: `'the tokenizer'`
 * @param limit - the most bytes that such a file may have
 * @throws FileError when the system refuses; FormatError for a folder, a pipe, a device, or a file over the limit
 */
export function readWhole(path: string, part: string, limit: number): Buffer {
  return onFile('read', path, () => {
    requireFile(path);
    const fd = openSync(path, 'r');
    try {
      const { size } = fstatSync(fd);
      if (size > limit) {
        throw new FormatError(
          path,
          `${part} has ${byteCount(size)}, more than the ${byteCount(limit)} that are read; is it the right file?`,
        );
      }
      const bytes = Buffer.alloc(size);
      return bytes.subarray(0, readFully(fd, bytes, 0));
    } finally {
      closeSync(fd);
    }
  });
}

/** The text of a UTF-8 file, a byte order mark left out; otherwise as {@link readWhole}. */
export function readText(path: string, part: string, limit: number): string {
  return withoutByteOrderMark(decodeUtf8(path, part, readWhole(path, part, limit)));
}

/**
 * Asked before a file is opened, since opening a named pipe waits forever and a device never ends.
 * @throws FormatError when the path leads to something else than a file; what the system refuses, as it does
 */
export function requireFile(path: string): Stats {
  const stats = statSync(path);
  if (stats.isFile()) return stats;
  if (stats.isDirectory()) throw new FormatError(path, 'it is a folder, a file is expected; check the path');
  const kind = stats.isFIFO() ? 'a pipe' : stats.isSocket() ? 'a socket' : 'a device';
  throw new FormatError(path, `it is ${kind}, not a file; write the content to a file first`);
}
