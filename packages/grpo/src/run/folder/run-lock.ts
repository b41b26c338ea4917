import { mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { onFile } from '../../errors/file-error.js';
import { UserError } from '../../errors/user-error.js';
import { temporaryPath } from '../../formats/atomic-file.js';
import { bootId, startOf } from './process-start.js';

const ownerSchema = z.object({
  pid: z.number().int().positive(),
  /** When the process began, and in which run of the machine: an id alone is soon another process's. */
  start: z.string(),
  boot: z.string(),
  host: z.string(),
  /** When the folder was taken. */
  since: z.string(),
});
type Owner = z.infer<typeof ownerSchema>;

/**
 * Keeps a second process out of a run folder, whose rows would mix. A lock whose process is gone is taken over. Hosts
 * that share a disk are told apart by their names; whether a process of another one is alive cannot be seen, so its
 * lock stays.
 */
export class RunLock implements Disposable {
  readonly #path: string;
  readonly #owner: Owner;
  #held = true;

  /** @throws UserError while another run has the folder, or this one already has it; FileError */
  constructor(folder: string) {
    this.#path = join(folder, 'run.lock');
    const { pid } = process;
    const since = new Date().toISOString();
    this.#owner = { pid, start: startOf(pid) ?? '', boot: bootId(), host: hostname(), since };
    oneAtATime(`${this.#path}.taking`, () => {
      const owner = readOwner(this.#path);
      if (owner && mayLive(owner)) throw inUse(folder, owner, this.#path);
      this.#write(temporaryPath(folder));
    });
  }

  /** Whole, but not flushed, which may take seconds: no lock outlives a power cut anyway. */
  #write(temporary: string): void {
    onFile('write', this.#path, () => {
      try {
        writeFileSync(temporary, `${JSON.stringify(this.#owner)}\n`);
        renameSync(temporary, this.#path);
      } catch (error) {
        rmSync(temporary, { force: true });
        throw error;
      }
    });
  }

  /** Who took the folder with this lock. */
  get own(): string {
    return describe(this.#owner);
  }

  /** Who has the folder now. */
  get owner(): string | undefined {
    const owner = readOwner(this.#path);
    return owner && describe(owner);
  }

  /** A second call does nothing: the lock may be another run's by then. */
  [Symbol.dispose](): void {
    // Somebody may have deleted our lock, and another run put its own there.
    if (this.#held && readOwner(this.#path)?.since === this.#owner.since) {
      onFile('write', this.#path, () => rmSync(this.#path, { force: true }));
    }
    this.#held = false;
  }
}

const describe = ({ pid, host, since }: Owner) => `process ${pid} on ${host}, since ${since}`;

function mayLive(owner: Owner): boolean {
  if (owner.host !== hostname()) return true;
  return owner.boot === bootId() && startOf(owner.pid) === owner.start;
}

function inUse(folder: string, { pid, host, since }: Owner, path: string): UserError {
  const who = `process ${pid}, since ${since.replace(/\.\d+/, '')}`;
  if (host === hostname()) {
    return new UserError(`${folder} is in use by a run that is still running (${who})`, {
      hint: 'Wait for it or stop it, or choose another output.',
    });
  }
  return new UserError(`${folder} is in use by a run on the host ${host} (${who})`, {
    hint: `This host cannot tell whether it is still running. If it is not, delete ${path}.`,
  });
}

/** Undefined for a file that is gone, or that a power cut left half-written. */
function readOwner(path: string): Owner | undefined {
  try {
    return ownerSchema.parse(JSON.parse(onFile('read', path, () => readFileSync(path, 'utf8'))));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError || codeOf(error) === 'ENOENT')
      return undefined;
    throw error;
  }
}

const PAUSE_MS = 20;
/** `body` takes milliseconds; a folder that is older belongs to a process that was killed in it. */
const PATIENCE_MS = 3000;

/** Runs `body` while no other process does, by a folder: of many that make one, one succeeds. */
function oneAtATime(folder: string, body: () => void): void {
  let waiting: { for: number; until: number } | undefined;
  while (!madeFolder(folder)) {
    const made = madeAt(folder);
    if (made === undefined) continue;
    if (waiting?.for !== made) waiting = { for: made, until: performance.now() + PATIENCE_MS };
    if (performance.now() > waiting.until) removeFolder(folder);
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
  }
  try {
    body();
  } finally {
    removeFolder(folder);
  }
}

function madeFolder(folder: string): boolean {
  return onFile('write', folder, () => {
    try {
      mkdirSync(folder);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    }
  });
}

const madeAt = (folder: string) => statSync(folder, { throwIfNoEntry: false })?.ctimeMs;

function removeFolder(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
