/** Reads what runs leave, ours and other people's: says what it recognised and what it can therefore not judge. */
import { join } from 'node:path';
import { FormatError } from '../../errors/format-error.js';
import { printable } from '../../errors/printable.js';
import { STEP_JSON } from '../write.js';
import { isCompletionLines, readCompletionLines } from './completions/completion-lines.js';
import { completionsOf } from './completions/completion-rows.js';
import { isParquet, readCompletionTables } from './completions/completion-tables.js';
import { limits } from './limits.js';
import { type Place, placeOf } from './place.js';
import type { Reading } from './reading.js';
import { isRunFolder, readRunFolder } from './run-folder.js';
import { readStepFolders, stepFolders } from './step-folders.js';
import { isStepLogs, readStepLogs } from './step-logs.js';
import { readTextLog } from './text-log.js';
import { isTrainerState, readTrainerState } from './trl/trainer-state.js';
import { isTrlFolder, readTrlFolder } from './trl/trl-folder.js';

export type { BrokenPart, BrokenSummary, CompletionRow, Reading, RunPart } from './reading.js';
export { isEvaluation } from './run-collector.js';

/** A kind of path that can be read. */
interface Reader {
  recognises(place: Place): boolean;
  read(place: Place): Reading | Promise<Reading>;
}

/** Logs under the names that trainers give them, in a folder that has nothing else we know. */
const LOGS = [
  'trainer_state.json',
  'metrics.jsonl',
  'logging.jsonl',
  'train_step_metrics.csv',
  'completions.jsonl',
];
const logIn = ({ names }: Place) => LOGS.find((name) => names.includes(name));

/** In the order in which they are asked. */
const readers: readonly Reader[] = [
  { recognises: isRunFolder, read: readRunFolder },
  { recognises: (place) => stepFolders(place).length > 0, read: readStepFolders },
  { recognises: isTrlFolder, read: readTrlFolder },
  { recognises: isStepLogs, read: readStepLogs },
  { recognises: isParquet, read: readCompletionTables },
  {
    recognises: (place) => place.isFolder && logIn(place) !== undefined,
    read: (place) => readPlace(placeOf(join(place.path, logIn(place)!))),
  },
  { recognises: ({ isFolder, name }) => !isFolder && name === STEP_JSON, read: readStepFolders },
  {
    recognises: (place) => !place.isFolder && isTrainerState(place),
    read: ({ path }) => readTrainerState(path),
  },
  { recognises: (place) => !place.isFolder && isCompletionLines(place), read: readCompletionLines },
  { recognises: ({ isFolder }) => !isFolder, read: readTextLog },
];

/**
 * Recognises what a path is and reads it.
 *
 * @throws UserError (FormatError, FileError) that says what was looked for and what was found
 */
export async function readRun(path: string): Promise<Reading> {
  const reading = await readPlace(placeOf(path));
  const { records } = reading;
  return {
    ...reading,
    ...(records && { completions: completionsOf(records) }),
    notes: [...reading.notes, ...limits(reading)],
  };
}

async function readPlace(place: Place): Promise<Reading> {
  const reader = readers.find(({ recognises }) => recognises(place));
  if (reader) return await reader.read(place);
  const listed = place.names.slice(0, 8).map((name) => printable(name, 40));
  const found =
    place.names.length === 0
      ? 'the folder is empty'
      : `found ${listed.join(', ')}${place.names.length > 8 ? ', …' : ''}`;
  throw new FormatError(place.path, `nothing here that the doctor reads: ${found}`, {
    hint: 'It reads a run folder of grpo, step records (step.json), an output folder of TRL (checkpoint-*/trainer_state.json, completions/*.parquet), or a log as a file.',
  });
}
