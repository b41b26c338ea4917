/** Node's file system as the readers use it, over the files that the page has. Nothing is written. */
import type { Dirent, Stats } from 'node:fs';
import { basename, dirname } from 'pathe';
import { disk } from '../disk/disk.js';
import { reportReading } from '../reading-progress.js';

function failure(code: string, syscall: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall });
}

interface Item {
  isFolder: boolean;
  size: number;
  modified: number;
}

function find(path: string): Item | undefined {
  if (path === '/') return { isFolder: true, size: 0, modified: 0 };
  const name = basename(path);
  return disk()
    .list(dirname(path))
    ?.find((entry) => entry.name === name);
}

function need(path: string, syscall: string): Item {
  const item = find(path);
  if (!item) throw failure('ENOENT', syscall, path);
  return item;
}

const statsOf = ({ isFolder, size, modified }: Item): Stats =>
  ({
    size,
    mtimeMs: modified,
    isDirectory: () => isFolder,
    isFile: () => !isFolder,
    isFIFO: () => false,
    isSocket: () => false,
    isCharacterDevice: () => false,
    isBlockDevice: () => false,
    isSymbolicLink: () => false,
  }) as Stats;

export const existsSync = (path: string): boolean => find(path) !== undefined;

export const statSync = (path: string): Stats => statsOf(need(path, 'stat'));

export function readdirSync(path: string, options?: { withFileTypes?: boolean }): string[] | Dirent[] {
  if (!need(path, 'scandir').isFolder) throw failure('ENOTDIR', 'scandir', path);
  const entries = disk().list(path) ?? [];
  if (!options?.withFileTypes) return entries.map(({ name }) => name);
  return entries.map(
    (entry) => ({ name: entry.name, parentPath: path, ...statsOf(entry) }) as unknown as Dirent,
  );
}

const open = new Map<number, string>();
let last = 2;

export function openSync(path: string): number {
  if (need(path, 'open').isFolder) throw failure('EISDIR', 'open', path);
  open.set(++last, path);
  return last;
}

export const closeSync = (fd: number): void => void open.delete(fd);

export const fstatSync = (fd: number): Stats => statSync(open.get(fd)!);

export function readSync(
  fd: number,
  target: Uint8Array,
  offset: number,
  length: number,
  position: number,
): number {
  const path = open.get(fd)!;
  const bytes = disk().read(path, position, position + length);
  target.set(bytes, offset);
  reportReading(path, position + bytes.length, need(path, 'read').size);
  return bytes.length;
}

export function readFileSync(path: string): Buffer {
  const { isFolder, size } = need(path, 'open');
  if (isFolder) throw failure('EISDIR', 'read', path);
  return Buffer.from(disk().read(path, 0, size));
}

const refuse = (): never => {
  throw new Error('a page writes no files');
};

export {
  refuse as createReadStream,
  refuse as fsyncSync,
  refuse as ftruncateSync,
  refuse as mkdirSync,
  refuse as renameSync,
  refuse as rmSync,
  refuse as statfsSync,
  refuse as writeSync,
};
