/** Reads what runs leave, ours and other people's: says what it recognised and what it can therefore not judge. */
import { STEP_JSON } from '../write.js';
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
import { isRunFolder, readRunFolder } from './run-folder.js';
import { readStepFolders, stepFolders } from './step-folders.js';
import { isStepLogs, readStepLogs } from './step-logs.js';
import { isTensorBoard, readTensorBoard } from './tensorboard/tensorboard.js';
import { readTextLog } from './text-log.js';
import { isTrainerState, readTrainerState } from './trl/trainer-state.js';
import { isTrlFolder, readTrlFolder } from './trl/trl-folder.js';
import { isWandb, readWandb } from './wandb/wandb-folder.js';

export type { BrokenPart, BrokenSummary, CompletionRow, Reading, RunPart } from './reading.js';
export { isEvaluation } from './rows/run-collector.js';

/** A kind of path that can be read. */
interface Reader {
  recognises(place: Place): boolean;
  read(place: Place): Reading | Promise<Reading>;
}

/** In the order in which they are asked. */
const readers: readonly Reader[] = [
  { recognises: isRunFolder, read: readRunFolder },
  { recognises: (place) => stepFolders(place).length > 0, read: readStepFolders },
  { recognises: isTrlFolder, read: readTrlFolder },
  { recognises: isStepLogs, read: readStepLogs },
  { recognises: isWandb, read: readWandb },
  { recognises: isTensorBoard, read: readTensorBoard },
  { recognises: isCompletionFolder, read: (place) => readCompletionLines(place, completionFiles(place)) },
  { recognises: isParquet, read: readCompletionTables },
  { recognises: ({ isFolder, name }) => !isFolder && name === STEP_JSON, read: readStepFolders },
  {
    recognises: (place) => !place.isFolder && isTrainerState(place),
    read: ({ path }) => readTrainerState(path),
  },
  { recognises: (place) => !place.isFolder && isCompletionLines(place), read: readCompletionLines },
  { recognises: isNotebook, read: readNotebook },
  { recognises: isHtml, read: readHtmlTables },
  { recognises: isJsonDocument, read: readJsonLog },
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

const readerOf = (place: Place) => readers.find(({ recognises }) => recognises(place));

async function readPlace(place: Place): Promise<Reading> {
  const reader = readerOf(place);
  if (reader) return await reader.read(place);
  // Whatever is no folder has a reader.
  return readFolderOfRuns(place, {
    isRun: (folder) => readerOf(folder) !== undefined,
    read: (inside) => readerOf(inside)!.read(inside),
  });
}
