import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../../../http/refusal.js';
import type { GivenPath } from '../given-paths.js';
import { fromSystem, locate, openWithin } from './locate.js';
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
export function listFolder(given: readonly GivenPath[], names: readonly string[]): ListEntry[] {
  if (names.length === 0) return given.flatMap(({ name, path }) => plainEntry(name, path) ?? []);
  using folder = openWithin(given, names, 'folder');
  const found = fromSystem(() => readdirSync(folder.path))
    .filter(isName)
    .sort();
  return found.flatMap((name) => {
    const entry = entryOf(name, join(folder.path, name));
    return (entry === 'link' ? linked(given, [...names, name]) : entry) ?? [];
  });
}

/** As many folders are listed in one answer. */
const MOST_LISTS = 2048;

/** A folder by its names, and what is in it. */
export interface FolderList {
  names: readonly string[];
  entries: readonly ListEntry[];
}

/**
 * Lists a folder and those in it: a page that looks for runs, or for the records of a run, asks for all of them next.
 *
 * @throws Refusal where there is no such folder
 */
export function listFolders(given: readonly GivenPath[], names: readonly string[]): FolderList[] {
  const entries = listFolder(given, names);
  const inside = entries.filter(({ isFolder }) => isFolder).map(({ name }) => [...names, name]);
  return [{ names, entries }, ...inside.slice(0, MOST_LISTS).flatMap((folder) => listInside(given, folder))];
}

/** Nothing for a folder that may not be read: a request for it alone gets the refusal. */
function listInside(given: readonly GivenPath[], names: readonly string[]): FolderList[] {
  try {
    return [{ names, entries: listFolder(given, names) }];
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}

/** The entry that a link leads to, under the link's name. */
function linked(given: readonly GivenPath[], names: readonly string[]): ListEntry | undefined {
  try {
    return plainEntry(names.at(-1)!, locate(given, names));
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** A file or folder, and no link. */
function plainEntry(name: string, path: string): ListEntry | undefined {
  const entry = entryOf(name, path);
  return entry === 'link' ? undefined : entry;
}

/** Nothing for devices and pipes, and for a file that has gone since its folder was read. */
function entryOf(name: string, path: string): ListEntry | 'link' | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink()) return 'link';
  const isFolder = stat?.isDirectory() ?? false;
  if (!stat || !(isFolder || stat.isFile())) return undefined;
  return { name, isFolder, size: isFolder ? 0 : stat.size, modified: stat.mtimeMs };
}
