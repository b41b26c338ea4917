import { UserError } from '../../errors/user-error.js';
import { readStepRecord, type StepRecord, type Stored, TEXT_LISTS } from '../../trace/index.js';
import type { OpenRuns } from '../open-runs.js';

/** A step of a run, as a request names it. */
export interface StepPlace {
  run: string;
  step: number;
}

/** A record without its large arrays of tokens, and the folder that has them; a step of texts alone has none. */
export interface StepHead {
  record: StepRecord;
  folder: string | undefined;
}

/** Lists and masks. Of a large step the other arrays of tokens are left out, and long texts. */
const SMALL_BYTES = 2 ** 20;
const isSmall = ({ path, bytes }: Stored) => bytes <= SMALL_BYTES || /(^|\.)mask$/.test(path);

/** The same, and all texts as they were graded: as a list of completions shows them. */
const isListed = (one: Stored) =>
  isSmall(one) || (TEXT_LISTS.has(one.path) && one.path !== 'completions.sampledTexts');

/** Steps whose heads, and steps whose whole records are kept: of the last that were asked for. */
const HEADS = 8;
const RECORDS = 1;

/** @throws UserError for a step without a record */
export const headOf = (runs: OpenRuns, at: StepPlace): Promise<StepHead> =>
  recent(runs, 'heads', HEADS, at, () => readHead(runs, at, isSmall));

/** A head with all texts. @throws UserError for a step without a record */
export const listOf = (runs: OpenRuns, at: StepPlace): Promise<StepHead> =>
  recent(runs, 'lists', HEADS, at, () => readHead(runs, at, isListed));

async function readHead(
  runs: OpenRuns,
  at: StepPlace,
  isRead: (stored: Stored) => boolean,
): Promise<StepHead> {
  const folder = runs.stepFolder(at.run, at.step);
  const record = folder === undefined ? await textRecordOf(runs, at) : readStepRecord(folder, isRead);
  return { folder, record };
}

/** The whole record. @throws UserError for a step without one */
export function recordOf(runs: OpenRuns, { run, step }: StepPlace): Promise<StepRecord> {
  return recent(runs, 'records', RECORDS, { run, step }, async () => {
    const folder = runs.stepFolder(run, step);
    return folder === undefined ? textRecordOf(runs, { run, step }) : readStepRecord(folder);
  });
}

/**
 * The record with some of its arrays of tokens alone, and without long texts.
 *
 * @param keys - the last part of each array's path: `policyLogprobs`
 */
export async function partOf(
  runs: OpenRuns,
  { run, step }: StepPlace,
  keys: readonly string[],
): Promise<StepRecord> {
  const folder = runs.stepFolder(run, step);
  if (folder === undefined) return textRecordOf(runs, { run, step });
  return readStepRecord(folder, (one) => isSmall(one) || keys.some((key) => one.path.endsWith(`.${key}`)));
}

async function textRecordOf(runs: OpenRuns, { run, step }: StepPlace): Promise<StepRecord> {
  const record = await runs.textRecord(run, step);
  if (record) return record;
  const steps = [...runs.stepFolders(run).keys()];
  throw new UserError(`${run} has no record of step ${step}`, {
    hint: steps.length > 0 ? `It has records of the steps ${steps.join(', ')}.` : 'It has no step records.',
  });
}

/** Makes something of a step, and keeps it with the last few others until the run changes. */
function recent<T>(
  runs: OpenRuns,
  what: string,
  most: number,
  { run, step }: StepPlace,
  make: () => Promise<T>,
): Promise<T> {
  const made = runs.once(what, run, () => new Map<number, Promise<T>>());
  const value = made.get(step) ?? make();
  made.delete(step);
  made.set(step, value);
  value.catch(() => made.delete(step));
  for (const old of made.keys()) if (made.size > most) made.delete(old);
  return value;
}
