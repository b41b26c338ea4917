import { dirname, isAbsolute } from 'node:path';
import { byteCount } from './byte-count.js';
import { freeBytes } from './free-bytes.js';
import { UserError } from './user-error.js';

type Action = 'read' | 'write';

/** The system refused to read or write a file; `cause` is its own error. */
export class FileError extends UserError {
  constructor(
    readonly path: string,
    /** The system's code, such as `ENOSPC`. */
    readonly code: string,
    private readonly action: Action,
    override readonly cause: NodeJS.ErrnoException,
    /** The space that is needed, where it is known. */
    bytes?: number,
  ) {
    const from = code === 'ENOENT' && action === 'read' && !isAbsolute(path) ? ` in ${process.cwd()}` : '';
    const advice = `${ADVICE[code]?.[action] ?? cause.message}${from}`;
    const space = bytes === undefined ? '' : spaceFor(path, code, bytes);
    super(`cannot ${action} ${path}: ${advice.replace(/;|$/, `${space}$&`)} (${code})`, { cause });
  }

  /** The same about `path`: what was to be written in the end, and the space that it takes as a whole. */
  at(path: string, bytes: number): FileError {
    return new FileError(path, this.code, this.action, this.cause, bytes);
  }
}

/** What a full disk lacks, in words; nothing for other errors. */
function spaceFor(path: string, code: string, bytes: number): string {
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return '';
  const needed = `, ${byteCount(bytes)} are needed`;
  // Of a quota the file system does not tell what is left.
  const free = code === 'ENOSPC' ? freeBytes(dirname(path)) : undefined;
  return free === undefined ? needed : `${needed} and ${byteCount(free)} are free`;
}

/**
 * Refuses what the disk has no room for, before anything of it is written.
 *
 * @throws FileError
 */
export function requireFree(path: string, bytes: number): void {
  const free = freeBytes(dirname(path));
  if (free === undefined || free >= bytes) return;
  const cause = Object.assign(new Error('ENOSPC: not enough space'), { code: 'ENOSPC' });
  throw new FileError(path, cause.code, 'write', cause, bytes);
}

const same = (text: string): Record<Action, string> => ({ read: text, write: text });

const FORBIDDEN: Record<Action, string> = {
  read: 'permission denied; check the owner and mode of the file and its folders',
  write: 'permission denied; check the owner and mode of the folder, or choose another one',
};
const ADVICE: Record<string, Record<Action, string>> = {
  ENOSPC: same('the disk is full; free some space or choose a folder on another disk'),
  EDQUOT: same('your disk quota is used up; delete files of yours or choose a folder on another disk'),
  EFBIG: same('the file is larger than the file system or `ulimit -f` allows'),
  EACCES: FORBIDDEN,
  EPERM: FORBIDDEN,
  EROFS: same('the file system is read-only; choose a folder on another one'),
  ENOENT: { read: 'there is no such file', write: 'its folder does not exist; create it first' },
  ENOTDIR: same('a part of the path is a file, not a folder; check the path'),
  EISDIR: same('it is a folder, a file is expected; check the path'),
  EEXIST: same('there is a file of that name, a folder is expected; choose another name'),
  ELOOP: same('its symbolic links go in a circle; check where they lead'),
  EMFILE: same('too many files are open; raise the limit with `ulimit -n`'),
  ENFILE: same('too many files are open on this machine; end other programs'),
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
