import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../../errors/file-error.js';
import { STEP_JSON, STEP_TENSORS } from '../write.js';
import { isLogName, MOST_LEVELS, NOT_FOLDERS } from './candidates.js';
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
  const isFolder = onFile('read', path, () => statSync(path)).isDirectory();
  return isFolder ? [...filesBelow(path, MOST_LEVELS)] : [path];
}

function* filesBelow(folder: string, levels: number): Generator<string> {
  const place = placeOf(folder);
  if (isRunFolder(place)) {
    yield* filesOf(folder);
    // The list of runs counts what the run's own doctor found.
    if (place.names.includes(FINDINGS)) yield join(folder, FINDINGS);
    yield* stepsOf(place);
    return;
  }
  const entries = onFile('read', folder, () => readdirSync(folder, { withFileTypes: true }));
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isFile() && isReadable(entry.name)) yield path;
    else if (entry.isDirectory() && levels > 0 && !NOT_FOLDERS.test(entry.name))
      yield* filesBelow(path, levels - 1);
  }
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
