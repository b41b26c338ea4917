/** Reads what runs leave, ours and other people's: says what it recognised and what it can therefore not judge. */
import { FormatError } from '../../errors/format-error.js';
import type { Watch } from '../../progress/watch.js';
import { STEP_JSON } from '../write.js';
import { candidatesIn } from './candidates.js';
import { completionFiles, isCompletionFolder } from './completions/completion-folder.js';
import { isCompletionLines, readCompletionLines } from './completions/completion-lines.js';
import { completionsOf } from './completions/completion-rows.js';
import { isParquet, readCompletionTables } from './completions/completion-tables.js';
import { readFolderOfRuns } from './folder-of-runs.js';
import { isHtml, readHtmlTables } from './html-tables.js';
import { isJsonDocument, readJsonLog } from './json-log.js';
import { limits } from './limits.js';
import { isNotebook, readNotebook } from './notebook.js';
import { type Place, placeOf } from './place.js';
import type { Reading } from './reading.js';
import { isRunFolder, RUN_FOLDER, readRunFolder } from './run-folder.js';
import { readStepFolders, stepFolders, withLogBeside } from './step-folders.js';
import { isStepLogs, readStepLogs } from './step-logs.js';
import { isTensorBoard, readTensorBoard } from './tensorboard/tensorboard.js';
import { readTextLog } from './text-log.js';
import { isTrainerState, readTrainerState } from './trl/trainer-state.js';
import { isTrlFolder, readTrlFolder } from './trl/trl-folder.js';
import { isWandb, readWandb } from './wandb/wandb-folder.js';

export type { Place } from './place.js';
export type { BrokenPart, BrokenSummary, CompletionRow, Reading, RunPart } from './reading.js';
export { missingColumns, nameMetrics } from './rows/given-names.js';
export { isEvaluation } from './rows/run-collector.js';

/** A kind of path that can be read. */
interface Reader {
  /** For people, before anything is read: what was read is told more exactly. */
  kind: string;
  recognises(place: Place): boolean;
  read(place: Place): Reading | Promise<Reading>;
}

/** In the order in which they are asked. */
const readers: readonly Reader[] = [
  { kind: RUN_FOLDER, recognises: isRunFolder, read: readRunFolder },
  {
    kind: 'step records',
    recognises: (place) => stepFolders(place).length > 0,
    read: (place) => withLogBeside(place, readStepFolders(place), (file) => readerOf(file)!.read(file)),
  },
  { kind: 'output folder of TRL or transformers', recognises: isTrlFolder, read: readTrlFolder },
  { kind: 'metrics, one JSON file per step', recognises: isStepLogs, read: readStepLogs },
  { kind: 'run of W&B', recognises: isWandb, read: readWandb },
  { kind: 'events of TensorBoard', recognises: isTensorBoard, read: readTensorBoard },
  {
    kind: 'completions',
    recognises: isCompletionFolder,
    read: (place) => readCompletionLines(place, completionFiles(place)),
  },
  { kind: 'completions, Parquet', recognises: isParquet, read: readCompletionTables },
  {
    kind: 'step record',
    recognises: ({ isFolder, name }) => !isFolder && name === STEP_JSON,
    read: readStepFolders,
  },
  {
    kind: 'trainer_state.json',
    recognises: (place) => !place.isFolder && isTrainerState(place),
    read: ({ path }) => readTrainerState(path),
  },
  {
    kind: 'completions',
    recognises: (place) => !place.isFolder && isCompletionLines(place),
    read: readCompletionLines,
  },
  { kind: 'notebook', recognises: isNotebook, read: readNotebook },
  { kind: 'HTML', recognises: isHtml, read: readHtmlTables },
  { kind: 'JSON', recognises: isJsonDocument, read: readJsonLog },
  { kind: 'text', recognises: ({ isFolder }) => !isFolder, read: readTextLog },
];

/** A path that may be a run, as far as its head or its listing tells. */
export interface FoundRun {
  place: Place;
  /** For people. */
  kind: string;
}

/**
 * The path itself where it is a run or a file, or the runs and logs below it. Nothing but listings and heads of files is
 * read: a log may turn out to have no metrics.
 *
 * @throws FileError where there is nothing, FormatError for files of bytes
 */
export function findRuns(path: string): FoundRun[] {
  const root = placeOf(path);
  const reader = readerOf(root);
  if (reader) return [{ place: root, kind: reader.kind }];
  return candidatesIn(path, isRun).flatMap((inside) => {
    const place = textPlaceOf(inside);
    return place ? [{ place, kind: readerOf(place)!.kind }] : [];
  });
}

/** A place that can be read; undefined for a file of bytes that is named like a log. */
function textPlaceOf(path: string): Place | undefined {
  try {
    return placeOf(path);
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

const isRun = (place: Place) => readerOf(place) !== undefined;

/**
 * Recognises what a path is and reads it.
 *
 * @param watch - hears how much of a large log has been read
 * @throws UserError (FormatError, FileError) that says what was looked for and what was found
 */
export async function readRun(path: string, watch?: Watch): Promise<Reading> {
  const reading = await readPlace(placeOf(path, watch));
  const { records } = reading;
  return {
    ...reading,
    ...(records && { completions: completionsOf(records) }),
    notes: [...reading.notes, ...limits(reading)],
  };
}

const readerOf = (place: Place) => readers.find(({ recognises }) => recognises(place));

async function readPlace(place: Place): Promise<Reading> {
  const reader = readerOf(place);
  if (reader) return await reader.read(place);
  // Whatever is no folder has a reader.
  return readFolderOfRuns(place, {
    isRun,
    read: (inside) => readerOf(inside)!.read(inside),
  });
}
