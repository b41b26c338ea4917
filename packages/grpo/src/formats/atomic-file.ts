/**
 * Files that are there whole or not at all: written under a temporary name in the same folder, flushed to the
 * disk, then renamed. A crash at any moment leaves the old file or the new one.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileError, onFile } from './file-error.js';
import { writeFully } from './file-io.js';

/** Adds to the end of the file being written; text is encoded as UTF-8. */
export type Write = (data: string | Uint8Array) => void;

/**
 * Writes `data` to `path`, replacing the file (or symbolic link) there.
 * @throws FileError when the system refuses; the old file is then untouched and no temporary file is left.
 */
export function writeFileAtomic(path: string, data: string | Uint8Array): void {
  writeAtomic(path, (write) => {
    write(data);
  });
}

/**
 * The streaming form of {@link writeFileAtomic}: the file takes its place when `body` returns, and is dropped
 * when `body` throws. `body` must return nothing: an async function would still be writing after the rename.
 */
export function writeAtomic(path: string, body: (write: Write) => undefined): void {
  const folder = dirname(path);
  // A name of its own, not one derived from `path`, which may already be as long as names may be.
  const temporary = join(folder, `.tmp-${process.pid}-${randomBytes(6).toString('hex')}`);
  let fd: number | undefined = onFile('write', path, () => openSync(temporary, 'wx'));
  try {
    const open = fd;
    body((data) => onFile('write', path, () => writeFully(open, toBytes(data))));
    onFile('write', path, () => {
      fsyncSync(open);
      fd = undefined;
      closeSync(open);
      renameSync(temporary, path);
    });
  } catch (error) {
    if (fd !== undefined) closeSync(fd);
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(folder);
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
    if (fd !== undefined) closeSync(fd);
  }
}
