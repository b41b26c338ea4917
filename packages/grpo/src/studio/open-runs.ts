import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UserError } from '../errors/user-error.js';
import { readJsonObject } from '../formats/json.js';
import type { StepRecord } from '../trace/index.js';
import { type Reading, readRun } from '../trace/readers/index.js';
import { placeOf } from '../trace/readers/place.js';
import { stepFolders } from '../trace/readers/step-folders.js';
import { STEP_JSON } from '../trace/write.js';

/** A run's id in its parts: the path, and which of the runs of a file or folder, from 1. */
interface RunPlace {
  path: string;
  part: number | undefined;
}

/**
 * The runs below some paths, each read when it is first asked for. An id is a path, with `#2` behind it for the second
 * run of a file that holds several.
 */
export class OpenRuns {
  readonly roots: readonly string[];
  /** Readings and all that is made of them: by id, then by name. */
  readonly #made = new Map<string, Map<string, unknown>>();

  constructor(roots: readonly string[]) {
    this.roots = roots.map((root) => root.replace(/(?<=.)\/+$/, ''));
  }

  /** @throws UserError for an id outside of the roots, or where nothing is */
  place(id: string): RunPlace {
    const [, path, part] = /^(.*)#(\d+)$/s.exec(id) ?? [];
    const place =
      path === undefined || existsSync(id) ? { path: id, part: undefined } : { path, part: Number(part) };
    const isShown = this.roots.some((root) => isWithin(place.path, root));
    if (!isShown || place.path.split('/').includes('..'))
      throw new UserError(`${id} is not among the paths that are shown`, {
        hint: 'Start the page with the path of the run.',
      });
    return place;
  }

  /**
   * Reads the path of a run: one run, or several.
   *
   * @throws UserError for what cannot be read
   */
  async whole(id: string): Promise<Reading> {
    const { path } = this.place(id);
    return this.once('reading', path, () => readRun(path));
  }

  /**
   * Reads one run. Where the id names none of several, the first, with a note.
   *
   * @throws UserError for what cannot be read
   */
  async reading(id: string): Promise<Reading> {
    const { path, part } = this.place(id);
    const { runs } = await this.whole(path);
    if (!runs) return this.whole(path);
    const run = runs[(part ?? 1) - 1];
    if (!run) throw new UserError(`${path} has ${runs.length} runs, and no run ${part}`);
    const reading = await this.once('reading', `${path}#${part ?? 1}`, () => run.read());
    if (part !== undefined) return reading;
    const note = `${basename(path)} has several runs; this is ${run.name}.`;
    return { ...reading, notes: [note, ...reading.notes] };
  }

  /** Whether a run was read already. */
  isRead(id: string): boolean {
    return this.#made.get(id)?.has('reading') ?? false;
  }

  /** Folders of step records, by step. */
  stepFolders(id: string): ReadonlyMap<number, string> {
    const { path } = this.place(id);
    return this.once('step folders', path, () => {
      const place = placeOf(path);
      const found = place.name === STEP_JSON ? [dirname(path)] : stepFolders(place);
      return new Map(found.map((folder) => [stepOf(folder), folder]));
    });
  }

  /** The folder of a step's record; undefined where the step has none. */
  stepFolder(id: string, step: number): string | undefined {
    return this.stepFolders(id).get(step);
  }

  /** The record of a step that only a table of completions has; undefined where there is none. */
  async textRecord(id: string, step: number): Promise<StepRecord | undefined> {
    const reading = await this.reading(id);
    if (reading.textRecord) return reading.textRecord(step);
    if (this.stepFolders(id).size > 0) return undefined;
    for (const record of reading.records ?? []) if (record.step === step) return record;
    return undefined;
  }

  /** Forgets what was read at, above or below some paths. */
  refresh(paths: readonly string[]): void {
    const isChanged = (id: string) => {
      const path = id.replace(/#\d+$/, '');
      return paths.some((changed) => isWithin(path, changed) || isWithin(changed, path));
    };
    for (const id of this.#made.keys()) if (isChanged(id)) this.#made.delete(id);
  }

  /** Makes a value for a run once, and returns the same until the run's files change. */
  once<T>(what: string, id: string, make: () => T): T {
    const made = this.#made.get(id) ?? new Map<string, unknown>();
    this.#made.set(id, made);
    if (made.has(what)) return made.get(what) as T;
    const value = make();
    made.set(what, value);
    // A file that is half written now may be whole the next time.
    if (value instanceof Promise) value.catch(() => made.delete(what));
    return value;
  }
}

const isWithin = (path: string, folder: string) =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);

/** The step of a record: runs name the folder after it, others leave it in the record alone. */
function stepOf(folder: string): number {
  const name = basename(folder);
  return /^\d+$/.test(name)
    ? Number(name)
    : Number(readJsonObject(join(folder, STEP_JSON), 'the record').step);
}
