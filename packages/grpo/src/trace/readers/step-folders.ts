import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../../errors/file-error.js';
import { FormatError } from '../../errors/format-error.js';
import { printable } from '../../errors/printable.js';
import { isObject, readJsonObject } from '../../formats/json.js';
import { declaredByBoth } from '../declared.js';
import { readStepRecord } from '../read.js';
import type { StepRecord } from '../record.js';
import { STEP_JSON } from '../write.js';
import { isLogName } from './candidates.js';
import { literal } from './literal.js';
import { type Place, placeOf } from './place.js';
import { BrokenParts, type Reading } from './reading.js';
import { isTrlFolder, readTrlFolder } from './trl/trl-folder.js';

/** Larger ones are given alone: each is read to learn whether it has metrics. */
const MOST_BYTES = 2 ** 26;

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
  // The recorder for TRL leaves it beside the records.
  const crash = crashIn(join(only!, '..'));
  const kind = folders.length === 1 ? 'step record' : `${folders.length} step records`;
  return {
    kind: crash === undefined ? kind : `${kind} of a run that an error ended`,
    ...(crash !== undefined && { crash }),
    files: folders.map((folder) => join(folder, STEP_JSON)),
    records,
    isGrpo: true,
    broken,
    notes: overridesIn(only!),
  };
}

/** The error that ended the run whose folder this is. */
export function crashIn(path: string): string | undefined {
  const file = join(path, 'error.json');
  if (!existsSync(file)) return undefined;
  const told: unknown = literal(onFile('read', file, () => readFileSync(file, 'utf8')).trim());
  if (!isObject(told)) return undefined;
  const [first] = String(told.error).split('\n', 1);
  return `An error ended the run after step ${told.step}: ${printable(first!, 300).replace(/[^.!?]$/, '$&.')}`;
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

/**
 * Adds the log in the folder of step records, where there is one: the trainer's state of transformers, or the one file with
 * metrics.
 *
 * @param read - reads a file that is named like a log
 */
export async function withLogBeside(
  place: Place,
  records: Reading,
  read: (file: Place) => Reading | Promise<Reading>,
): Promise<Reading> {
  const logs = isTrlFolder(place) ? [await readTrlFolder(place)] : await logsIn(place, read);
  const found = logs.filter(({ series }) => series !== undefined);
  const [log, ...others] = found;
  if (!log) return { ...records, notes: [...records.notes, ...passedOver(place)] };
  if (others.length > 0) {
    const names = found.flatMap(({ files }) => files).join(', ');
    const note = `Several logs lie beside the step records (${names}): none was read with them. Give one by itself.`;
    return { ...records, notes: [...records.notes, note] };
  }
  const broken = new BrokenParts();
  broken.addAll(log.broken);
  const declared = declaredByBoth(log.declared, records.declared);
  return {
    ...records,
    kind: `${records.kind} and ${log.kind}`,
    files: [...records.files, ...log.files],
    series: log.series!,
    ...(declared && { declared }),
    // Those of the records grow while they are read.
    broken: {
      get count() {
        return broken.count + records.broken.count;
      },
      get first() {
        return [...broken.first, ...records.broken.first].slice(0, 5);
      },
    },
    notes: [...records.notes, ...log.notes],
  };
}

/** Files that are named like logs and have no metrics that are read. */
function passedOver({ names, isFolder }: Place): string[] {
  const files = isFolder ? names.filter((name) => /\.(log|out|csv|jsonl)$/.test(name)) : [];
  if (files.length === 0) return [];
  return [
    `No metrics were found in ${files.join(', ')} beside the step records; given alone, the doctor says why.`,
  ];
}

async function logsIn(
  { path, names, isFolder }: Place,
  read: (file: Place) => Reading | Promise<Reading>,
): Promise<Reading[]> {
  const files = isFolder ? names.filter(isLogName).map((name) => join(path, name)) : [];
  const logs: Reading[] = [];
  for (const file of files) {
    const stat = statSync(file);
    if (!stat.isFile() || stat.size > MOST_BYTES) continue;
    try {
      logs.push(await read(placeOf(file)));
    } catch (error) {
      // Many files are named like a log.
      if (!(error instanceof FormatError)) throw error;
    }
  }
  return logs;
}
