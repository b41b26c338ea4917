/**
 * Files that are there whole or not at all: written under a temporary name in the same folder, flushed to the
 * disk, then renamed. A crash at any moment leaves the old file or the new one.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FileError, fileError, onFile } from '../errors/file-error.js';
import { writeFully } from './file-io.js';

/** Adds to the end of the file being written, or overwrites bytes at a position; text is encoded as UTF-8. */
export type Write = (data: string | Uint8Array, position?: number) => void;

/** Bytes after which the disk is waited for: at its end a large file would keep everybody waiting in silence. */
const FLUSHED = 2 ** 28;

/**
 * Writes `data` to `path`, replacing the file (or symbolic link) there.
 *
 * @param flush - wait for the disk; without it a power cut, unlike a crash, may leave an empty file
 * @throws FileError when the system refuses; the old file is then untouched and no temporary file is left.
 */
export function writeFileAtomic(path: string, data: string | Uint8Array, flush = true): void {
  const bytes = toBytes(data);
  writeAtomic(path, (write) => void write(bytes), bytes.length, flush);
}

/**
 * The streaming form of {@link writeFileAtomic}: the file takes its place when `body` returns, and is dropped
 * when `body` throws. `body` must return nothing: an async function would still be writing after the rename.
 *
 * @param size - bytes that the file will have, for the message when the disk is full
 */
export function writeAtomic(
  path: string,
  body: (write: Write) => undefined,
  size?: number,
  flush = true,
): void {
  const folder = dirname(path);
  const temporary = temporaryPath(folder);
  let fd: number | undefined = onFile('write', path, () => openSync(temporary, 'wx'));
  try {
    const open = fd;
    let waiting = 0;
    body((data, position) => {
      const bytes = toBytes(data);
      onFile('write', path, () => {
        writeFully(open, bytes, position);
        waiting += bytes.length;
        if (!flush || waiting < FLUSHED) return;
        fsyncSync(open);
        waiting = 0;
      });
    });
    onFile('write', path, () => {
      if (flush) fsyncSync(open);
      fd = undefined;
      closeSync(open);
      renameSync(temporary, path);
    });
  } catch (error) {
    discard(temporary, fd);
    throw error instanceof FileError && size !== undefined ? error.at(path, size) : error;
  }
  if (flush) syncFolder(folder);
}

/** Deletes an unfinished file. If that fails too, the next sweep deletes it: the first error counts. */
export function discard(temporary: string, fd?: number): void {
  try {
    if (fd !== undefined) closeSync(fd);
    rmSync(temporary, { recursive: true, force: true });
  } catch {}
}

/** A new name in `folder`; not one derived from the final name, which may already be as long as names may be. */
export const temporaryPath = (folder: string): string =>
  join(folder, `.tmp-${process.pid}-${randomBytes(6).toString('hex')}`);

const TEMPORARY = /^\.tmp-\d+-[0-9a-f]{12}$/;

/** Deletes files that killed writers left under temporary names in `folder`. Nobody else may be writing there now. */
export function sweepTemporary(folder: string): void {
  if (!existsSync(folder)) return;
  onFile('write', folder, () => {
    for (const name of readdirSync(folder)) {
      if (TEMPORARY.test(name)) rmSync(join(folder, name), { recursive: true, force: true });
    }
  });
}

const toBytes = (data: string | Uint8Array) => (typeof data === 'string' ? Buffer.from(data, 'utf8') : data);

const NO_FOLDER_SYNC = new Set<string | undefined>(['EINVAL', 'ENOTSUP', 'EACCES']);

/** Makes a rename last through a power cut; Windows opens no folders and needs no such call. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  let fd: number | undefined;
  try {
    fd = openSync(folder, 'r');
    fsyncSync(fd);
  } catch (error) {
    // The file is in place; some file systems cannot flush a folder, and some folders may not be listed.
    if (!NO_FOLDER_SYNC.has((error as NodeJS.ErrnoException).code)) throw fileError('write', folder, error);
  } finally {
    const open = fd;
    if (open !== undefined) onFile('write', folder, () => closeSync(open));
  }
}
