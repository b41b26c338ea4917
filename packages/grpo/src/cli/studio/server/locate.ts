import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { GivenPath } from '../given-paths.js';
import { notFound, Refusal } from './refusal.js';

/** Errors of the system that mean that there is no such file. */
const ABSENT = new Set<string | undefined>(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'EINVAL']);

/** Throws a system's error about a path as a refusal, where it is none of the server's own. */
export function refuseAbsent(error: NodeJS.ErrnoException): never {
  if (ABSENT.has(error.code)) throw notFound();
  if (error.code === 'EACCES' || error.code === 'EPERM')
    throw new Refusal(403, 'The system does not let this user read that.');
  throw error;
}

/**
 * The real path of a file or folder, which lies in a given path whatever links lead to it.
 *
 * @throws Refusal when it does not, or when it is not there
 */
export async function locate(
  given: readonly GivenPath[],
  [first, ...rest]: readonly string[],
): Promise<string> {
  const root = given.find(({ name }) => name === first);
  if (!root) throw notFound();
  // Also where it may not be read: that would tell of files outside.
  const path = await realpath(join(root.path, ...rest)).catch(() => {
    throw notFound();
  });
  requireWithin(given, path);
  return path;
}

function requireWithin(given: readonly GivenPath[], path: string): void {
  const isWithin = ({ path: root }: GivenPath) =>
    path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
  if (!given.some(isWithin)) throw notFound();
}

/** An open file or folder. */
interface Opened {
  handle: FileHandle;
  /** Leads to it, whatever becomes of its name; on systems that know no such path it is its name. */
  path: string;
}

/**
 * Opens a regular file or a folder for reading; devices, pipes and sockets are not touched.
 *
 * @throws Refusal
 */
export async function openWithin(
  given: readonly GivenPath[],
  names: readonly string[],
  kind: 'file' | 'folder',
): Promise<Opened> {
  const path = await locate(given, names);
  const isKind = (stat: { isFile(): boolean; isDirectory(): boolean }) =>
    kind === 'file' ? stat.isFile() : stat.isDirectory();
  if (!isKind(await lstat(path).catch(refuseAbsent))) throw notFound();
  // A pipe that has come in its place does not hold the server up.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(refuseAbsent);
  try {
    // A folder on the way may have become a link in the meantime: what counts is where the open file lies.
    const held = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path;
    requireWithin(given, await (held === path ? realpath(path) : readlink(held)).catch(refuseAbsent));
    if (!isKind(await handle.stat())) throw notFound();
    return { handle, path: held };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
