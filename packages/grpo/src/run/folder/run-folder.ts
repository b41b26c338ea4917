/** The folder of plain files that a run leaves. */
import { closeSync, existsSync, openSync, readdirSync, rmdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { type ConfigRecord, readRecord, UserError } from '../../config/index.js';
import { onFile } from '../../errors/file-error.js';
import { FormatError } from '../../errors/format-error.js';
import { sweepTemporary, writeFileAtomic } from '../../formats/atomic-file.js';
import { readFully } from '../../formats/file-io.js';
import { describeJson, isObject } from '../../formats/json.js';
import { readJsonLines, type StepRow } from '../../formats/jsonl.js';
import { JsonLinesWriter } from '../../formats/jsonl-writer.js';
import { makeFolder } from '../../formats/make-folder.js';
import { CURSORS } from '../../sinks/cursor.js';
import { latestCheckpoint } from './checkpoint.js';
import { RunLock } from './run-lock.js';

const CONFIG = 'config.json';
const CHECKPOINTS = 'checkpoints';
const STEPS = 'steps';
/** The error that ended the run; a resumed run has none. */
const ERROR = 'error.json';
/** The record of a preflight that found something: all that such a run leaves. */
const PREFLIGHT = 'preflight';
const NEWLINE = 0x0a;
/** Files of rows, one or several a step, in the order of the steps. */
const ROWS = [
  'metrics.jsonl',
  'completions.jsonl',
  'findings.jsonl',
  'eval.jsonl',
  'eval-completions.jsonl',
  'timings.jsonl',
] as const;

/** Whether a run is in a folder. */
export const holdsRun = (path: string): boolean => existsSync(join(path, CONFIG));

/** The folder for the record of a run that its preflight stopped; the next run there removes it. */
export const preflightIn = (path: string): string => join(path, PREFLIGHT);

/** A run's folder, open for writing. One at a time has it. */
export class RunFolder implements Disposable {
  readonly #lock: RunLock;
  readonly #files = new Map<(typeof ROWS)[number], JsonLinesWriter>();
  /** The row of the last evaluation. */
  #evaluation: StepRow | undefined;

  private constructor(
    readonly path: string,
    /** What the run is made with. */
    private record: ConfigRecord,
    prepare: () => void,
    /** What the run had been made with before it was resumed; undefined for a new one. */
    readonly previous?: ConfigRecord,
  ) {
    this.#lock = new RunLock(path);
    try {
      sweepTemporary(path);
      prepare();
      for (const name of ROWS) this.#files.set(name, new JsonLinesWriter(join(path, name)));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Begins a run. The folder is made where there is none.
   *
   * @throws UserError when it holds a run already; FileError when the system refuses
   */
  static create(path: string, record: ConfigRecord): RunFolder {
    makeFolder(path);
    return new RunFolder(path, record, () => {
      const present = [CONFIG, ...ROWS, ERROR, CHECKPOINTS, CURSORS].filter((name) =>
        existsSync(join(path, name)),
      );
      if (present.length > 0) {
        const isModel = present.length === 1 && existsSync(join(path, 'tokenizer.json'));
        throw isModel
          ? new UserError(`${path} holds a model`, { hint: 'Give another folder as output.' })
          : new UserError(`${path} holds a run already: ${present.join(', ')}`, {
              hint: `Continue that run with --resume ${path}${present.includes(CHECKPOINTS) ? '' : ' --restart, since it has no checkpoint'}, or give another folder as output.`,
            });
      }
      rmSync(preflightIn(path), { recursive: true, force: true });
      writeRecord(path, record);
    });
  }

  /**
   * Goes on with a run from its newest checkpoint, with the settings of `record`: rows of later steps are dropped, since
   * these steps are done again, and so is what a killed run left half-written.
   *
   * @param step - that of the checkpoint, 0 without one
   * @param mayRestart - whether to do all steps again, from the first on
   * @throws UserError when there is no run, or a newer checkpoint, or all of its steps would be done again; FormatError for a row that cannot
   * be read, FileError
   */
  static async resume(
    path: string,
    step: number,
    record: ConfigRecord,
    mayRestart = false,
  ): Promise<RunFolder> {
    const previous = readRecord(path);
    const { ownStages } = previous;
    const folder = new RunFolder(path, { ...record, ...(ownStages && { ownStages }) }, () => {}, previous);
    try {
      // Another process may have ended the run between the choice of its checkpoint and the lock.
      const newest = latestCheckpoint(folder.checkpoints)?.step ?? 0;
      if (newest > step) {
        throw new UserError(
          `the run in ${path} has a checkpoint of step ${newest}, which is newer than ${step}`,
          {
            hint: 'Another process saved it just now. Resume again.',
          },
        );
      }
      const done = (await lastRowOf(join(path, 'metrics.jsonl')))?.step;
      if (step === 0 && done !== undefined && !mayRestart) {
        throw new UserError(
          `the run in ${path} has no checkpoint: it would start over, and the rows of its ${done} steps would be lost`,
          {
            hint: 'If that is what you want: --restart (in code: restart: true). checkpoint.minutes and checkpoint.every set how often a run is saved.',
          },
        );
      }
      for (const { path: file } of folder.#files.values()) await dropRowsAfter(file, step);
      folder.#evaluation = await lastRowOf(join(path, 'eval.jsonl'));
      // Completions of an evaluation that was cut short.
      if (!folder.isEvaluated(step)) await dropRowsAfter(join(path, 'eval-completions.jsonl'), step - 1);
      folder.flush();
      sweepTemporary(folder.checkpoints);
      folder.#dropRecordsAfter(step);
      rmSync(join(path, ERROR), { force: true });
      writeRecord(path, folder.record);
      return folder;
    } catch (error) {
      folder.close();
      throw error;
    }
  }

  /** Drops the evaluations of a run that starts over: what has changed since may measure otherwise. */
  async dropEvaluations(): Promise<void> {
    for (const name of ['eval.jsonl', 'eval-completions.jsonl'])
      await dropRowsAfter(join(this.path, name), -1);
    this.#evaluation = undefined;
  }

  /** Where checkpoints go; `saveCheckpoint` makes it. */
  get checkpoints(): string {
    return join(this.path, CHECKPOINTS);
  }

  /** Adds stages that a user replaced to the record of the run: checks do not hold them to the settings. */
  replaceStages(names: readonly string[]): void {
    const known = this.record.ownStages ?? [];
    const added = names.filter((name) => !known.includes(name));
    if (added.length === 0) return;
    this.record = { ...this.record, ownStages: [...known, ...added] };
    writeRecord(this.path, this.record);
  }

  /** Adds the row of a step to `metrics.jsonl`. */
  metrics(row: StepRow): void {
    this.#append('metrics.jsonl', row);
  }

  /** Adds the row of a step to `timings.jsonl`. */
  timings(row: StepRow): void {
    this.#append('timings.jsonl', row);
  }

  /** Adds a step's completions to `completions.jsonl`. */
  completions(rows: readonly StepRow[]): void {
    for (const row of rows) this.#append('completions.jsonl', row);
  }

  /** Adds what is wrong with a step to `findings.jsonl`. */
  findings(rows: readonly StepRow[]): void {
    for (const row of rows) this.#append('findings.jsonl', row);
  }

  /** Writes down the error that ends the run. */
  crashed(step: number, error: string): void {
    writeFileAtomic(join(this.path, ERROR), `${JSON.stringify({ step, error })}\n`);
  }

  /** Its lock: who took the folder to write this run, and who has it now. */
  get lock(): Pick<RunLock, 'own' | 'owner'> {
    return this.#lock;
  }

  /** The rows of a file that the run has written so far. */
  async rowsOf(file: 'metrics.jsonl' | 'findings.jsonl'): Promise<StepRow[]> {
    const rows: StepRow[] = [];
    for await (const { value } of readJsonLines(join(this.path, file))) rows.push(value as StepRow);
    return rows;
  }

  /** Where the full record of a step goes. */
  stepFolder(step: number): string {
    return join(this.path, STEPS, String(step).padStart(6, '0'));
  }

  /** Adds an evaluation to `eval.jsonl`, and its completions to `eval-completions.jsonl`. */
  evaluation(row: StepRow, completions: readonly StepRow[] = []): void {
    for (const completion of completions) this.#append('eval-completions.jsonl', completion);
    this.#append('eval.jsonl', row);
    this.#evaluation = row;
  }

  /** The row of the evaluation after a step, the last one that was done; undefined if there was none. */
  evaluationAfter(step: number): StepRow | undefined {
    return this.#evaluation?.step === step ? this.#evaluation : undefined;
  }

  /** Whether the model has been evaluated after a step, the last one that was done. */
  isEvaluated(step: number): boolean {
    return this.evaluationAfter(step) !== undefined;
  }

  /** Waits until all rows are on the disk. Before a checkpoint, so that no crash leaves it with rows missing. */
  flush(): void {
    for (const file of this.#files.values()) file.flush();
  }

  /**
   * Closes the folder of a run that did no step. What it began is deleted, so that the next one may begin there; a run
   * that was resumed stays.
   *
   * @param made - paths in the folder that the run made besides
   */
  discard(made: readonly string[]): void {
    this.close();
    if (this.previous) return;
    const own = [CONFIG, ...ROWS].map((name) => join(this.path, name));
    for (const path of [...own, ...made]) rmSync(path, { recursive: true, force: true });
    if (readdirSync(this.path).length === 0) rmdirSync(this.path);
  }

  /** Flushes, closes and lets others have the folder; a second call does nothing. */
  close(): void {
    try {
      for (const file of this.#files.values()) file.close();
    } finally {
      this.#lock[Symbol.dispose]();
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #dropRecordsAfter(step: number): void {
    const folder = join(this.path, STEPS);
    if (!existsSync(folder)) return;
    for (const name of readdirSync(folder)) {
      if (Number(name) > step) rmSync(join(folder, name), { recursive: true });
    }
  }

  #append(file: (typeof ROWS)[number], row: StepRow): void {
    this.#files.get(file)!.append(row);
  }
}

/** Cuts the file off before the first row of a later step: one system call, which happens or does not. */
async function dropRowsAfter(file: string, step: number): Promise<void> {
  for await (const { line, value } of readJsonLines(file)) {
    const at = isObject(value) ? value.step : undefined;
    if (typeof at !== 'number') {
      throw new FormatError(file, `a row must have the number of its step, found step ${describeJson(at)}`, {
        line,
      });
    }
    if (at <= step) continue;
    onFile('write', file, () => truncateSync(file, startOfLine(file, line)));
    return;
  }
}

/** A file's last row; undefined where there is none. */
async function lastRowOf(file: string): Promise<StepRow | undefined> {
  let last: StepRow | undefined;
  for await (const { value } of readJsonLines(file)) last = value as StepRow;
  return last;
}

/** The byte at which a line begins; lines count from 1. */
function startOfLine(file: string, line: number): number {
  const fd = openSync(file, 'r');
  try {
    const chunk = new Uint8Array(2 ** 16);
    let current = 1;
    for (let position = 0, count = -1; count !== 0; position += count) {
      count = readFully(fd, chunk, position);
      for (let at = 0; at < count; at++) {
        if (current === line) return position + at;
        if (chunk[at] === NEWLINE) current++;
      }
    }
    throw new FormatError(file, 'the file was cut short while it was read', { line });
  } finally {
    closeSync(fd);
  }
}

function writeRecord(path: string, record: ConfigRecord): void {
  writeFileAtomic(join(path, CONFIG), `${JSON.stringify(record, null, 2)}\n`);
}
