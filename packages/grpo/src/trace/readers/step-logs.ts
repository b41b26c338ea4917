import { join } from 'node:path';
import { FormatError } from '../../errors/format-error.js';
import { readJsonObject } from '../../formats/json.js';
import type { Place } from './place.js';
import { producerOf } from './producers/index.js';
import { BrokenParts, type Reading } from './reading.js';
import { Collector } from './rows/collector.js';
import { metricRow } from './rows/metric-row.js';
import { readingOf } from './series/log-reading.js';

/** argen's callback writes the metrics of a step into a file of their own. */
const NAME = /^step_(\d+)_logs\.json$/;

export const isStepLogs = ({ name, names, isFolder }: Place): boolean =>
  isFolder ? names.some((one) => NAME.test(one)) : NAME.test(name);

/**
 * Reads one of argen's `step_N_logs.json`, or a folder of them.
 *
 * @throws FormatError when none has metrics
 */
export function readStepLogs(place: Place): Reading {
  const broken = new BrokenParts();
  const collector = new Collector();
  const names = place.isFolder ? place.names : [place.name];
  const numbered = names
    .flatMap((name) => {
      const step = NAME.exec(name)?.[1];
      return step === undefined
        ? []
        : [{ file: place.isFolder ? join(place.path, name) : place.path, step: Number(step) }];
    })
    .sort((a, b) => a.step - b.step);
  for (const { file, step } of numbered) {
    const row = rowOf(file, broken);
    if (row) collector.add({ ...row, step });
  }
  if (collector.rows === 0) {
    const why = broken.first[0]?.reason ?? 'no metrics of training in them';
    throw new FormatError(place.path, `no step_N_logs.json could be read: ${why}`);
  }
  return readingOf({
    files: numbered.map(({ file }) => file),
    runs: collector.finish(),
    kind: ({ names: all }) => `${producerOf(all).name} metrics, one JSON file per step`,
    broken,
  });
}

function rowOf(file: string, broken: BrokenParts) {
  try {
    const row = metricRow(readJsonObject(file, 'the metrics'));
    if (!row) broken.add({ file, reason: 'no metrics of training' });
    return row;
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    broken.add({ file, reason: error.message.replace(`${file}: `, '') });
    return undefined;
  }
}
