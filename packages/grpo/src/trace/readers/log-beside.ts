/** A log of metrics that lies beside the step records of its run. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { FormatError } from '../../errors/format-error.js';
import { declaredByBoth } from '../declared.js';
import { isLogName } from './candidates.js';
import { type Place, placeOf } from './place.js';
import { BrokenParts, type Reading } from './reading.js';
import { isTrlFolder, readTrlFolder } from './trl/trl-folder.js';

/** Larger ones are given alone: each is read to learn whether it has metrics. */
const MOST_BYTES = 2 ** 26;

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
  if (!log) return records;
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
