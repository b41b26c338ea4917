import { basename, join } from 'node:path';
import { FormatError } from '../../../errors/format-error.js';
import { isObject } from '../../../formats/json.js';
import { literal } from '../literal.js';
import type { Place } from '../place.js';
import { producerOf } from '../producers/index.js';
import { BrokenParts, type Reading } from '../reading.js';
import { Collector } from '../rows/collector.js';
import { readingOf } from '../series/log-reading.js';
import { flatSettings, settingsMeaning } from '../series/settings.js';
import { eventsIn } from './event-file.js';

const isEvents = (name: string) => /\btfevents\b/.test(name);

/** Whether a file is TensorBoard's, or a folder has such files. */
export const isTensorBoard = ({ isFolder, name, names }: Place): boolean =>
  isFolder ? names.some(isEvents) : isEvents(name);

/**
 * Reads event files; those of one folder are one run that was resumed.
 *
 * @throws FormatError when no number is in them
 */
export function readTensorBoard(place: Place): Reading {
  const files = place.isFolder
    ? place.names.filter(isEvents).map((name) => join(place.path, name))
    : [place.path];
  const broken = new BrokenParts();
  const collector = new Collector();
  const texts = new Map<string, string>();
  for (const file of files) {
    const steps = new Map<number, Record<string, number>>();
    for (const { step, tag, value } of eventsIn(file, broken)) {
      if (typeof value === 'string') {
        texts.set(tag, value);
        continue;
      }
      const row = steps.get(step);
      if (row) row[tag] = value;
      else steps.set(step, { [tag]: value });
    }
    for (const [step, values] of steps) collector.add({ step, values, names: Object.keys(values) });
  }
  if (collector.rows === 0) {
    const why = broken.first[0] ? `: ${broken.first[0].reason}` : '';
    throw new FormatError(place.path, `TensorBoard events without a number${why}`, {
      hint: 'The run wrote no scalars: report_to=tensorboard, logging_steps=1.',
    });
  }
  return readingOf({
    files,
    runs: collector.finish(),
    kind: ({ names }) => `${producerOf(names).name} events of TensorBoard`.replace(/^unknown e/, 'e'),
    broken,
    hints: settingsMeaning(settingsIn(texts)),
  });
}

/** The Trainer writes its arguments and the model's configuration as texts; the former are settings of the run. */
function settingsIn(texts: ReadonlyMap<string, string>) {
  const args = [...texts].find(([tag]) =>
    /^args\b/.test(basename(tag) === tag ? tag : tag.split('/')[0]!),
  )?.[1];
  const value = args === undefined ? undefined : literal(args);
  return isObject(value) ? flatSettings(value) : {};
}
