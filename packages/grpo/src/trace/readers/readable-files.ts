import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../../errors/file-error.js';
import { STEP_JSON, STEP_TENSORS } from '../write.js';
import { isLogName } from './candidates.js';
import { entriesBelow } from './entries-below.js';
import { type Place, placeOf } from './place.js';
import { filesOf, isRunFolder } from './run-folder.js';
import { stepFolders } from './step-folders.js';

const FINDINGS = 'findings.jsonl';
/** Tables, records and settings that tell of a run and are no logs. */
const BESIDE_LOGS = /\.(parquet|ya?ml)$|^(step\.safetensors|training_args\.bin|README\.md)$/;

/**
 * The files at or below a path that tell of runs: logs, tables, records, settings. Weights, states of optimizers,
 * tokenizers and checkpoints of ours are none; links are not followed.
 *
 * @throws FileError
 */
export function readableFiles(path: string): string[] {
  if (!onFile('read', path, () => statSync(path)).isDirectory()) return [path];
  const root = placeOf(path);
  if (isRunFolder(root)) return filesOfRun(root);
  return [...entriesBelow(path, isRunFolder)].flatMap(({ path: inside, name, folder }) =>
    folder ? filesOfRun(folder) : isReadable(name) ? [inside] : [],
  );
}

function filesOfRun(place: Place): string[] {
  // The list of runs counts what the run's own doctor found.
  const findings = place.names.includes(FINDINGS) ? [join(place.path, FINDINGS)] : [];
  return [...filesOf(place.path), ...findings, ...stepsOf(place)];
}

/** Of a run of ours only its records are below it: the name `steps` is the one that it gives them. */
const stepsOf = ({ path, names }: Place): string[] =>
  names.includes('steps') ? stepFolders(placeOf(join(path, 'steps'))).flatMap(filesOfStep) : [];

/** The files of a step's record. */
export const filesOfStep = (folder: string): string[] =>
  onFile('read', folder, () => readdirSync(folder))
    .filter((name) => name === STEP_JSON || name === STEP_TENSORS)
    .map((name) => join(folder, name));

const isReadable = (name: string): boolean => BESIDE_LOGS.test(name) || isLogName(name);
