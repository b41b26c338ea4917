import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../errors/user-error.js';
import { writeFileAtomic } from '../formats/atomic-file.js';
import { readJsonObject } from '../formats/json.js';
import { makeFolder } from '../formats/make-folder.js';
import type { Item } from './sink.js';

/** Folder of a run with one file per sink. */
export const CURSORS = 'sinks';

const cursorSchema = z.object({
  /** The last step that was delivered, the last one with findings, the last evaluation. */
  delivered: z.object({ step: z.int(), findings: z.int(), evaluation: z.int() }),
  /** Names that the other side gave: its id of the run. */
  names: z.record(z.string(), z.string()),
});

export type Position = z.infer<typeof cursorSchema>['delivered'];

/** The place up to which a sink has taken a run, on disk: a run that is resumed goes on from there. */
export class Cursor {
  readonly #file: string;
  #delivered: Position = { step: 0, findings: 0, evaluation: -1 };
  #names: Readonly<Record<string, string>> = {};

  /** @throws UserError for a file that is damaged */
  constructor(folder: string, name: string) {
    this.#file = join(folder, CURSORS, `${name}.json`);
    makeFolder(join(folder, CURSORS));
    if (!existsSync(this.#file)) return;
    const read = cursorSchema.safeParse(readJsonObject(this.#file, 'what has been delivered'));
    if (!read.success)
      throw new UserError(`${this.#file} does not say what has been delivered`, {
        hint: `Delete it: ${name} then gets every step of the run again.`,
      });
    this.#delivered = read.data.delivered;
    this.#names = read.data.names;
  }

  get delivered(): Position {
    return this.#delivered;
  }

  get names(): Readonly<Record<string, string>> {
    return this.#names;
  }

  /** Takes note of items that the sink has taken. */
  advance(items: readonly Item[]): void {
    const last = (kind: Item['kind'], before: number) =>
      items.reduce((most, item) => (item.kind === kind ? Math.max(most, item.step) : most), before);
    const { step, findings, evaluation } = this.#delivered;
    this.#delivered = {
      step: last('step', step),
      findings: last('findings', findings),
      evaluation: last('evaluation', evaluation),
    };
    this.#write();
  }

  /**
   * Forgets what was delivered of later steps, for a sink that takes them back. The last step that was delivered is
   * delivered again: its evaluation may be missing.
   *
   * @returns the last step of which the sink has all
   */
  cutBack(step: number): number {
    const last = Math.min(this.#delivered.step - 1, step);
    this.#delivered = { step: last, findings: last, evaluation: last };
    this.#write();
    return last;
  }

  /** Keeps a name that the other side gave. */
  remember(names: Readonly<Record<string, string>>): void {
    this.#names = { ...this.#names, ...names };
    this.#write();
  }

  #write(): void {
    const content = { delivered: this.#delivered, names: this.#names };
    writeFileAtomic(this.#file, `${JSON.stringify(content, null, 2)}\n`);
  }
}
