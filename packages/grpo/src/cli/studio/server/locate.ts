/**
 * Finds the file of a path, within the given paths only. The calls are synchronous: they take microseconds, a hundred times
 * as many through Node's thread pool, and a page may ask for thousands of files.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import { Refusal } from '../../../http/refusal.js';
import type { GivenPath } from '../given-paths.js';

/** The same words for what is not there and for what lies outside: nobody learns which files there are elsewhere. */
const notFound = () => new Refusal(404, 'There is no such file in the given paths.');

/** Errors of the system that mean that there is no such file. */
const ABSENT = new Set<string | undefined>(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'EINVAL']);

/** Returns what a system call returns. Its errors about a path become refusals; the server's own stay errors. */
export function fromSystem<T>(ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (ABSENT.has(code)) throw notFound();
    if (code === 'EACCES' || code === 'EPERM')
      throw new Refusal(403, 'The system does not let this user read that.');
    throw error;
  }
}

/**
 * The real path of a file or folder, which lies in a given path whatever links lead to it.
 *
 * @throws Refusal when it does not, or when it is not there
 */
export function locate(given: readonly GivenPath[], [first, ...rest]: readonly string[]): string {
  const root = given.find(({ name }) => name === first);
  if (!root) throw notFound();
  const path = realPath(join(root.path, ...rest));
  requireWithin(given, path);
  return path;
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    // Also where it may not be read: that would tell of files outside.
    throw notFound();
  }
}

function requireWithin(given: readonly GivenPath[], path: string): void {
  const isWithin = ({ path: root }: GivenPath) =>
    path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
  if (!given.some(isWithin)) throw notFound();
}

/** An open file or folder. */
export class Opened implements Disposable {
  constructor(
    readonly fd: number,
    /** Leads to it, whatever becomes of its name; on systems that know no such path it is its name. */
    readonly path: string,
  ) {}

  [Symbol.dispose](): void {
    closeSync(this.fd);
  }
}

/**
 * Opens a regular file or a folder for reading; devices, pipes and sockets are not touched.
 *
 * @throws Refusal
 */
export function openWithin(
  given: readonly GivenPath[],
  names: readonly string[],
  kind: 'file' | 'folder',
): Opened {
  const path = locate(given, names);
  const isKind = (stat: { isFile(): boolean; isDirectory(): boolean }) =>
    kind === 'file' ? stat.isFile() : stat.isDirectory();
  if (!isKind(fromSystem(() => lstatSync(path)))) throw notFound();
  // A pipe that has come in its place does not hold the server up.
  const fd = fromSystem(() => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
  try {
    // A folder on the way may have become a link in the meantime: what counts is where the open file lies.
    const held = process.platform === 'linux' ? `/proc/self/fd/${fd}` : path;
    requireWithin(
      given,
      fromSystem(() => (held === path ? realpathSync.native(path) : readlinkSync(held))),
    );
    if (!isKind(fstatSync(fd))) throw notFound();
    return new Opened(fd, held);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
