import { cacheDir } from './paths.js';
import { SetupError } from './run.js';

const reasons: Record<string, string> = {
  ENOSPC: 'no space is left',
  EDQUOT: 'your quota is used up',
  EACCES: 'you may not write there',
  EPERM: 'you may not write there',
  EROFS: 'it is read-only',
  ENOTDIR: 'part of that path is a file',
};

/** Whether an error is the disk's or its permissions', not the network's or ours. */
export function isDiskError(error: unknown): error is NodeJS.ErrnoException {
  const { code, syscall } = error as NodeJS.ErrnoException;
  // A refused connection has such a code, too.
  return code !== undefined && code in reasons && syscall !== 'connect';
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
