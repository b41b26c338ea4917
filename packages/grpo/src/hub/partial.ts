/**
 * Files on their way: beside the blob that they become, each with one process that writes to it. A shared name would
 * need a lock, and locks are not kept on every shared disk; with names of their own, two processes cost bandwidth only.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readlinkSync, renameSync, rmSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { fileError, onFile } from '../errors/file-error.js';

const NAME = /^([0-9a-f]+)\.([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.incomplete$/;
/** After this long without a byte a process on another machine, of which nothing can be known, is taken for gone. */
const ABANDONED_MS = 10 * 60_000;

/** The ones of this process that are being written. */
const active = new Set<string>();

/**
 * The path of a partial file for the blob `hex` in `folder`, which nobody else writes to: the longest one that an
 * ended process left, or a new one, which does not exist yet. Shorter ones are removed.
 */
export function claimPartial(folder: string, hex: string): string {
  const own = `${hex}.${MACHINE}-${process.pid}-${randomBytes(4).toString('hex')}.incomplete`;
  const path = join(folder, own);
  active.add(own);
  const left = onFile('read', folder, () => readdirSync(folder))
    .filter((name) => name.startsWith(hex) && !active.has(name))
    .flatMap((name) => abandoned(folder, name))
    .sort((a, b) => b.size - a.size);
  let claimed = false;
  for (const { name } of left) {
    // Another process may be as quick; renaming is what decides.
    if (claimed) rmSync(join(folder, name), { force: true });
    else claimed = renamed(join(folder, name), path);
  }
  return path;
}

/** Lets others go on with a partial file, if it is still there and worth it. */
export function releasePartial(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.size === 0) rmSync(path);
  active.delete(basename(path));
}

/** The machine and, in a container, the space that its process numbers are of. */
const MACHINE = createHash('sha256').update(`${hostname()} ${processSpace()}`).digest('hex').slice(0, 8);

function processSpace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    // Not Linux, or a sandbox that does not tell: then all processes of the machine are taken to be of one space.
    return '';
  }
}

function abandoned(folder: string, name: string): { name: string; size: number }[] {
  const [, , machine, pid] = NAME.exec(name) ?? [];
  const found = statSync(join(folder, name), { throwIfNoEntry: false });
  if (machine === undefined || found === undefined) return [];
  const gone =
    machine === MACHINE
      ? Number(pid) === process.pid || !isRunning(Number(pid))
      : Date.now() - found.mtimeMs > ABANDONED_MS;
  return gone ? [{ name, size: found.size }] : [];
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, but somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function renamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw fileError('write', from, error);
  }
}
