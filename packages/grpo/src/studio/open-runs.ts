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
  readonly #readings = new Map<string, Promise<Reading>>();
  readonly #folders = new Map<string, ReadonlyMap<number, string>>();

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
   * What the path of a run holds, of one run or several.
   *
   * @throws UserError for what cannot be read
   */
  async whole(id: string): Promise<Reading> {
    const { path } = this.place(id);
    return this.#cached(path, () => readRun(path));
  }

  /**
   * One run. Of several the first, with a note, where the id does not tell which.
   *
   * @throws UserError for what cannot be read
   */
  async reading(id: string): Promise<Reading> {
    const { path, part } = this.place(id);
    const { runs } = await this.whole(path);
    if (!runs) return this.whole(path);
    const run = runs[(part ?? 1) - 1];
    if (!run) throw new UserError(`${path} has ${runs.length} runs, and no run ${part}`);
    const reading = await this.#cached(`${path}#${part ?? 1}`, run.read);
    if (part !== undefined) return reading;
    const note = `${basename(path)} has several runs; this is ${run.name}.`;
    return { ...reading, notes: [note, ...reading.notes] };
  }

  /** The reading of a run, where it was read already. */
  known(id: string): Promise<Reading> | undefined {
    return this.#readings.get(id);
  }

  /** Folders of step records, by step. */
  stepFolders(id: string): ReadonlyMap<number, string> {
    const { path } = this.place(id);
    let folders = this.#folders.get(path);
    if (!folders) {
      const place = placeOf(path);
      const found = place.name === STEP_JSON ? [dirname(path)] : stepFolders(place);
      folders = new Map(found.map((folder) => [stepOf(folder), folder]));
      this.#folders.set(path, folders);
    }
    return folders;
  }

  /** The folder of a step's record; undefined where the step has none. */
  stepFolder(id: string, step: number): string | undefined {
    return this.stepFolders(id).get(step);
  }

  /** The record of a step that only a table of completions tells of; undefined where nothing does. */
  async textRecord(id: string, step: number): Promise<StepRecord | undefined> {
    const { textRecords, records } = await this.reading(id);
    const all = textRecords ?? (this.stepFolders(id).size > 0 ? undefined : records);
    for (const record of all ?? []) if (record.step === step) return record;
    return undefined;
  }

  /** Forgets what was read at, above or below some paths. */
  refresh(paths: readonly string[]): void {
    const isChanged = (id: string) => {
      const path = id.replace(/#\d+$/, '');
      return paths.some((changed) => isWithin(path, changed) || isWithin(changed, path));
    };
    for (const cache of [this.#readings, this.#folders])
      for (const id of cache.keys()) if (isChanged(id)) cache.delete(id);
  }

  #cached(key: string, read: () => Promise<Reading>): Promise<Reading> {
    const cached = this.#readings.get(key);
    if (cached) return cached;
    const reading = read();
    this.#readings.set(key, reading);
    // What could not be read may be whole the next time.
    reading.catch(() => this.#readings.delete(key));
    return reading;
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
