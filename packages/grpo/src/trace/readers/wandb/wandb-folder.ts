import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { FormatError } from '../../../errors/format-error.js';
import { isObject, readJsonObject } from '../../../formats/json.js';
import { readText } from '../../../formats/read-file.js';
import { type Place, placeOf } from '../place.js';
import { producerOf } from '../producers/index.js';
import { BrokenParts, type Reading } from '../reading.js';
import { Collector } from '../rows/collector.js';
import { metricRow } from '../rows/metric-row.js';
import { type Hints, mergedHints } from '../series/hints.js';
import { LogFacts } from '../series/log-facts.js';
import { readingOf } from '../series/log-reading.js';
import { flatSettings, type Setting, settingsMeaning } from '../series/settings.js';
import { readTextLog } from '../text-log.js';
import { isWandbLog, wandbRecords } from './wandb-log.js';

const MOST_BYTES = 2 ** 24;
const logIn = (names: readonly string[]) => names.find((name) => /^run-.*\.wandb$/.test(name));
const OF_FILES = ['wandb-summary.json', 'wandb-metadata.json'];

/** Whether a path is W&B's log, the folder of a run, or its `files`. */
export const isWandb = ({ isFolder, name, names, head, path }: Place): boolean =>
  isFolder
    ? logIn(names) !== undefined ||
      OF_FILES.some((file) => names.includes(file)) ||
      (names.includes('files') && /^(offline-)?run-\d/.test(name) && existsSync(join(path, 'files')))
    : isWandbLog(head) || name.endsWith('.wandb');

/**
 * Reads W&B's log of a run; without one, the output that W&B kept, and its summary.
 *
 * @throws FormatError when no metric is in them
 */
export function readWandb(place: Place): Reading {
  if (!place.isFolder) return readLog(place.path, undefined);
  const log = logIn(place.names);
  const files = place.names.includes('files') ? join(place.path, 'files') : place.path;
  const { hints, problem } = settingsIn(join(files, 'config.yaml'));
  const output = join(files, 'output.log');
  const attempts: (() => Reading)[] = [
    ...(log === undefined ? [] : [() => readLog(join(place.path, log), hints)]),
    ...(existsSync(output) ? [() => readTextLog(placeOf(output, place.watch), hints)] : []),
    () => readSummary(join(files, 'wandb-summary.json'), hints),
  ];
  const problems: string[] = problem === undefined ? [] : [problem];
  for (const attempt of attempts) {
    try {
      const reading = attempt();
      return { ...reading, notes: [...reading.notes, ...problems.map((problem) => `Not read: ${problem}.`)] };
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      problems.push(error.message);
    }
  }
  throw new FormatError(place.path, `a folder of W&B without metrics of training: ${problems.join('; ')}`, {
    hint: 'The run ended before its first log, or its files are elsewhere: export its history (a CSV of the run’s page), or give the console’s log.',
  });
}

function readLog(file: string, hints: Hints | undefined): Reading {
  const broken = new BrokenParts();
  const [told, counted] = [new Collector(), new Collector()];
  const facts = new LogFacts();
  let settings: Record<string, Setting> = {};
  let line = 0;
  for (const record of wandbRecords(file, broken)) {
    if (record.kind === 'config') settings = { ...settings, ...record.settings };
    else if (record.kind === 'output')
      for (const text of record.text.split(/[\r\n]+/)) facts.take({ line: ++line, text });
    else {
      const row = metricRow(record.values);
      const { step } = record;
      if (!row) continue;
      told.add({ ...row, ...(row.step === undefined && step !== undefined && { step }) });
      counted.add({ ...row, values: { ...row.values }, ...(step !== undefined && { step }) });
    }
  }
  if (told.rows === 0) {
    const why = broken.first[0] ? `: ${broken.first[0].reason}` : '';
    throw new FormatError(file, `W&B’s own log of a run, without a history of metrics${why}`, {
      hint: 'Look at files/output.log beside it, or export the history from the page of the run.',
    });
  }
  const runs = told.finish();
  // A step that never moves is nobody's; W&B counts its rows itself.
  const stands = runs.length === 1 && runs[0]!.entries.length === 1;
  return readingOf({
    files: [file],
    runs: stands ? counted.finish() : runs,
    kind: ({ names }) => `${nameOf(names)}log of W&B`,
    broken,
    hints: mergedHints(facts.hints(), hints ?? {}, settingsMeaning(settings)),
  });
}

/** The last values alone. */
function readSummary(file: string, hints: Hints): Reading {
  if (!existsSync(file)) throw new FormatError(file, 'there is no summary');
  const row = metricRow(readJsonObject(file, 'the summary'));
  if (!row) throw new FormatError(file, 'the summary has no metric of training');
  const collector = new Collector();
  collector.add(row);
  return readingOf({
    files: [file],
    runs: collector.finish(),
    kind: ({ names }) => `${nameOf(names)}summary of W&B`,
    broken: new BrokenParts(),
    hints,
    notes: ['The summary has the last values of the run alone.'],
  });
}

const nameOf = (names: ReadonlySet<string>) => {
  const { name } = producerOf(names);
  return name === 'unknown' ? '' : `${name} `;
};

/** What `config.yaml` tells: each setting is an object with its value. */
function settingsIn(file: string): { hints: Hints; problem?: string } {
  if (!existsSync(file)) return { hints: {} };
  const text = readText(file, 'the settings of W&B', MOST_BYTES);
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) return { hints: {}, problem: `${file}: ${error.message.split('\n', 1)[0]}` };
  const all: unknown = document.toJS({ maxAliasCount: 100 });
  const values = Object.entries(isObject(all) ? all : {}).flatMap(([name, one]) =>
    isObject(one) && 'value' in one && !name.startsWith('_wandb') ? [[name, one.value] as const] : [],
  );
  return { hints: settingsMeaning(flatSettings(Object.fromEntries(values))) };
}
