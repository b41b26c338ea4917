import { readSync, writeSync } from 'node:fs';

/** One system call moves less than 2 GiB; smaller pieces cost nothing and let signals through. */
const CHUNK = 64 * 2 ** 20;

/**
 * Reads from `position` until `target` is full or the file ends, straight into the target's memory.
 * @returns the bytes read, fewer than `target.length` only at the end of the file.
 */
export function readFully(fd: number, target: Uint8Array, position: number): number {
  let done = 0;
  while (done < target.length) {
    const piece = target.subarray(done, done + CHUNK);
    const count = readSync(fd, piece, 0, piece.length, position + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}

/** Writes all of `data` at the file's current end or position, or at the one that is given. */
export function writeFully(fd: number, data: Uint8Array, position?: number): void {
  let done = 0;
  while (done < data.length) {
    const piece = data.subarray(done, done + CHUNK);
    done += writeSync(fd, piece, 0, piece.length, position === undefined ? null : position + done);
  }
}
