import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { GivenPath } from '../given-paths.js';
import { locate, openWithin, refuseAbsent } from './locate.js';
import { isName } from './virtual-path.js';

/** A file or folder in a list. */
export interface ListEntry {
  name: string;
  isFolder: boolean;
  /** In bytes; 0 for a folder. */
  size: number;
  /** Milliseconds since 1970. */
  modified: number;
}

/**
 * Lists a folder, by name. What cannot be read as a file or folder of the given paths is left out: devices, pipes,
 * links that lead elsewhere or nowhere.
 *
 * @throws Refusal where there is no such folder
 */
export async function listFolder(
  given: readonly GivenPath[],
  names: readonly string[],
): Promise<ListEntry[]> {
  if (names.length === 0) return present(given.map(({ name, path }) => entryOf(name, path)));
  const { handle, path: folder } = await openWithin(given, names, 'folder');
  try {
    const found = (await readdir(folder).catch(refuseAbsent)).filter(isName).sort();
    return await present(found.map((name) => linkedEntry(given, names, name, join(folder, name))));
  } finally {
    await handle.close();
  }
}

async function present(entries: readonly Promise<ListEntry | undefined>[]): Promise<ListEntry[]> {
  return (await Promise.all(entries)).filter((entry) => entry !== undefined);
}

/** An entry of a folder, or that which it links to. */
async function linkedEntry(
  given: readonly GivenPath[],
  names: readonly string[],
  name: string,
  path: string,
): Promise<ListEntry | undefined> {
  const stat = await statOf(path);
  if (!stat?.isSymbolicLink()) return stat && described(name, stat);
  const target = await locate(given, [...names, name]).catch(() => undefined);
  return target === undefined ? undefined : entryOf(name, target);
}

async function entryOf(name: string, path: string): Promise<ListEntry | undefined> {
  const stat = await statOf(path);
  return stat && described(name, stat);
}

/** Nothing for a file that has gone since its folder was read. */
const statOf = (path: string): Promise<Stats | undefined> => lstat(path).catch(() => undefined);

function described(name: string, stat: Stats): ListEntry | undefined {
  const isFolder = stat.isDirectory();
  if (!isFolder && !stat.isFile()) return undefined;
  return { name, isFolder, size: isFolder ? 0 : stat.size, modified: stat.mtimeMs };
}
