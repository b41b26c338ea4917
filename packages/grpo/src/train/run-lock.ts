import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../config/errors.js';
import { onFile } from '../formats/file-error.js';

const ownerSchema = z.object({ pid: z.number().int().positive(), start: z.string() });

/**
 * Keeps a second process out of a run folder, whose rows would mix. A lock whose process is gone is taken over. It
 * does not see other machines.
 */
export class RunLock implements Disposable {
  readonly #path: string;
  #held = true;

  /** @throws UserError while another run has the folder, or this one already has it */
  constructor(folder: string) {
    this.#path = join(folder, 'run.lock');
    const { pid } = process;
    const content = `${JSON.stringify({ pid, start: startOf(pid) })}\n`;
    if (this.#create(content)) return;
    const owner = readOwner(this.#path);
    if (owner && startOf(owner.pid) === owner.start) throw inUse(folder, owner.pid, this.#path);
    rmSync(this.#path, { force: true });
    // Another process may have been as quick.
    if (!this.#create(content)) throw inUse(folder, readOwner(this.#path)?.pid, this.#path);
  }

  /** A second call does nothing: the lock may be another run's by then. */
  [Symbol.dispose](): void {
    if (this.#held) rmSync(this.#path, { force: true });
    this.#held = false;
  }

  /** @returns false when the file is there already */
  #create(content: string): boolean {
    return onFile('write', this.#path, () => {
      try {
        writeFileSync(this.#path, content, { flag: 'wx' });
        return true;
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return false;
        throw error;
      }
    });
  }
}

function inUse(folder: string, pid: number | undefined, path: string): UserError {
  return new UserError(`${folder} is in use by a run that is still going on (process ${pid ?? 'unknown'})`, {
    hint: `Wait for it or stop it, or choose another output. If there is no such run, delete ${path}.`,
  });
}

/** Undefined for a file that is gone, or that its process was killed in the middle of writing. */
function readOwner(path: string): z.infer<typeof ownerSchema> | undefined {
  try {
    return ownerSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError || codeOf(error) === 'ENOENT')
      return undefined;
    throw error;
  }
}

/**
 * When a process began, in the system's own terms, so that another one that got the same id is told apart: restarted
 * containers hand out the same ids. Only Linux says; elsewhere it is empty. Undefined when there is no such process.
 */
function startOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return undefined;
    // EPERM: it is there, but somebody else's.
  }
  if (process.platform !== 'linux') return '';
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Field 22; the second one, in brackets, may itself hold spaces and brackets.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
