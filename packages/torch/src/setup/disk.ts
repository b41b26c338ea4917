import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { cacheDir } from './paths.js';
import { SetupError } from './run.js';

const reasons: Record<string, string> = {
  ENOSPC: 'no space is left',
  EDQUOT: 'your quota is used up',
  EACCES: 'you may not write there',
  EPERM: 'you may not write there',
  EROFS: 'it is read-only',
  ENOTDIR: 'part of that path is a file',
  ENOENT: 'the system does not allow a folder there',
};

/** Whether an error is the disk's or its permissions', not the network's or ours. */
export function isDiskError(error: unknown): error is NodeJS.ErrnoException {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return syscall === 'mkdir';
  // A refused connection has such a code, too.
  return code !== undefined && code in reasons && syscall !== 'connect';
}

/**
 * Makes a folder, and those above it, unless it is there. Node's own recursive form never returns where the system
 * answers ENOENT, as `/proc` and automounters do.
 */
export function makeFolder(path: string, withParents = true): void {
  try {
    mkdirSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && withParents && dirname(path) !== path) {
      makeFolder(dirname(path));
      makeFolder(path, false);
    } else if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/** The same error in words for the user where it is the disk's, or else as it was. */
export function explainDiskError(error: unknown): unknown {
  if (!isDiskError(error)) return error;
  const cache = cacheDir();
  const place = error.path?.startsWith(cache)
    ? cache
    : (error.path ?? `${cache} or the folder of the package`);
  return new SetupError(
    `Set-up cannot write to ${place}: ${reasons[error.code!]} (${error.code}). The cache folder, ${cache}, takes up ` +
      'to 1 GB; XDG_CACHE_HOME=FOLDER puts it elsewhere, for set-up and for each run.',
    { cause: error },
  );
}
