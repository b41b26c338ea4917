import { closeSync, fstatSync, openSync } from 'node:fs';
import { onFile } from '../errors/file-error.js';
import { readFully } from './file-io.js';

const NEWLINE = 0x0a;
const CHUNK = 2 ** 16;

/** The last line of a file that is not empty, without its newline; undefined where there is none. Reads no more than it needs. */
export function lastLine(path: string): string | undefined {
  return onFile('read', path, () => {
    const fd = openSync(path, 'r');
    try {
      const { size } = fstatSync(fd);
      for (let length = CHUNK; ; length *= 2) {
        const start = Math.max(0, size - length);
        const bytes = Buffer.alloc(size - start);
        readFully(fd, bytes, start);
        let end = bytes.length;
        while (end > 0 && bytes[end - 1] === NEWLINE) end--;
        const before = end === 0 ? -1 : bytes.lastIndexOf(NEWLINE, end - 1);
        if (before < 0 && start > 0) continue;
        return end === 0 ? undefined : bytes.toString('utf8', before + 1, end);
      }
    } finally {
      closeSync(fd);
    }
  });
}
