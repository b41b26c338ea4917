type Action = 'read' | 'write';

/** The system refused to read or write a file; `cause` is its own error. */
export class FileError extends Error {
  override readonly name = 'FileError';

  constructor(
    readonly path: string,
    /** The system's code, such as `ENOSPC`. */
    readonly code: string,
    action: Action,
    cause: NodeJS.ErrnoException,
  ) {
    super(`cannot ${action} ${path}: ${ADVICE[code]?.[action] ?? cause.message} (${code})`, { cause });
  }
}

const same = (text: string): Record<Action, string> => ({ read: text, write: text });

const FULL = same('the disk is full or the quota is used up; free some space or choose another folder');
const FORBIDDEN: Record<Action, string> = {
  read: 'permission denied; check the owner and mode of the file and its folders',
  write: 'permission denied; check the owner and mode of the folder, or choose another one',
};
const ADVICE: Record<string, Record<Action, string>> = {
  ENOSPC: FULL,
  EDQUOT: FULL,
  EACCES: FORBIDDEN,
  EPERM: FORBIDDEN,
  EROFS: same('the file system is read-only; choose a folder on another one'),
  ENOENT: { read: 'there is no such file', write: 'its folder does not exist; create it first' },
  ENOTDIR: same('a part of the path is a file, not a folder; check the path'),
  EISDIR: same('it is a folder, a file is expected; check the path'),
  EMFILE: same('too many files are open; raise the limit with `ulimit -n`'),
  ENAMETOOLONG: same('the name is too long; choose a shorter one'),
};

/** `error` as a {@link FileError} when the system raised it; anything else passes unchanged. */
export function fileError(action: Action, path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof FileError) return error;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return code !== undefined && syscall !== undefined ? new FileError(path, code, action, error) : error;
}

/** Runs `body`; a system error in it becomes a {@link FileError} for `path`. */
export function onFile<T>(action: Action, path: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw fileError(action, path, error);
  }
}
