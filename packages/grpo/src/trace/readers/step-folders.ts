import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FormatError } from '../../errors/format-error.js';
import { isObject, readJsonObject } from '../../formats/json.js';
import { readStepRecord } from '../read.js';
import type { StepRecord } from '../record.js';
import { STEP_JSON } from '../write.js';
import { type Place, placeOf } from './place.js';
import { BrokenParts, type Reading } from './reading.js';

/** Folders of step records in a folder: itself, those in it, or those in its `steps`. */
export function stepFolders({ path, names, isFolder }: Place): string[] {
  if (!isFolder) return [];
  if (names.includes(STEP_JSON)) return [path];
  const numbered = names.map((name) => ({ name, step: Number(/\d+/.exec(name)?.[0] ?? 0) }));
  const folders = numbered
    .sort((a, b) => a.step - b.step)
    .map(({ name }) => join(path, name))
    .filter((folder) => existsSync(join(folder, STEP_JSON)));
  // As the recorder for TRL leaves them.
  const inside = folders.length === 0 && names.includes('steps');
  return inside ? stepFolders(placeOf(join(path, 'steps'))) : folders;
}

/** Reads a step record, or a folder of them. */
export function readStepFolders(place: Place): Reading {
  const folders = place.isFolder ? stepFolders(place) : [join(place.path, '..')];
  const broken = new BrokenParts();
  const [only] = folders;
  // The one that was asked for must be whole.
  const records = folders.length === 1 ? [readStepRecord(only!)] : recordsIn(folders, broken);
  return {
    kind: folders.length === 1 ? 'step record' : `${folders.length} step records`,
    files: folders.map((folder) => join(folder, STEP_JSON)),
    records,
    isGrpo: true,
    broken,
    notes: overridesIn(only!),
  };
}

/** Says which methods of its trainer a user overrode, where the producer names them. */
function overridesIn(folder: string): string[] {
  try {
    const { settings } = readJsonObject(join(folder, STEP_JSON), 'the record');
    const { overridden } = isObject(settings) ? settings : {};
    if (!isObject(overridden)) return [];
    const names = Object.entries(overridden).map(([method, owner]) => `${method} (${owner})`);
    return [`The trainer overrides ${names.join(', ')}: no setting tells what they do.`];
  } catch (error) {
    // Whoever reads the record is told what is wrong with it.
    if (error instanceof FormatError) return [];
    throw error;
  }
}

/** Records that are read when they are asked for; those that cannot be are counted, the first time only. */
export function recordsIn(folders: readonly string[], broken: BrokenParts): Iterable<StepRecord> {
  let counts = true;
  return {
    *[Symbol.iterator]() {
      const own = counts ? broken : new BrokenParts();
      counts = false;
      for (const folder of folders) {
        const record = recordIn(folder, own);
        if (record) yield record;
      }
    },
  };
}

function recordIn(folder: string, broken: BrokenParts): StepRecord | undefined {
  try {
    return readStepRecord(folder);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    broken.add({ file: error.file, reason: error.message.replace(`${error.file}: `, '') });
    return undefined;
  }
}
