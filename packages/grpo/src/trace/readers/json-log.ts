/** One JSON document of any nesting: rows in lists, columns, rows by step, wherever they lie in it. */
import { statSync } from 'node:fs';
import { counted } from '../../errors/counted.js';
import { onFile } from '../../errors/file-error.js';
import { FormatError } from '../../errors/format-error.js';
import { isObject } from '../../formats/json.js';
import { chunksOf } from './lines.js';
import { isCutOff, literal } from './literal.js';
import type { Place } from './place.js';
import { producerOf } from './producers/index.js';
import { BrokenParts, type Reading } from './reading.js';
import { Collector } from './rows/collector.js';
import { isMetricName, type MetricRow, metricRow, numberOf } from './rows/metric-row.js';
import { type CollectedLog, isEvaluation } from './rows/run-collector.js';
import { readingOf } from './series/log-reading.js';
import { flatSettings, settingsMeaning } from './series/settings.js';
import { readTextLog } from './text-log.js';

/** A larger document is read line by line. */
const MOST_BYTES = 2 ** 26;
const MOST_LEVELS = 12;

/** Whether a file is one JSON value, as far as its beginning tells: rows in lines are not. */
export function isJsonDocument({ isFolder, name, head }: Place): boolean {
  if (isFolder || !/^\s*[[{]/.test(head)) return false;
  const [first, second = ''] = head.trim().split('\n', 2) as [string, string?];
  const isRow = /^\{\s*"/.test(first) && first.trimEnd().endsWith('}');
  if (isRow) return second === '' && name.endsWith('.json');
  // `[INFO] …` begins like a list, too.
  return literal(head.trim()) !== undefined || isCutOff(head.trim());
}

/** Reads the logs in a document; what is no whole document is read as text. */
export function readJsonLog(place: Place): Reading {
  const { path } = place;
  const isSmall = onFile('read', path, () => statSync(path)).size <= MOST_BYTES;
  const value = isSmall ? literal(wholeText(path).trim()) : undefined;
  if (value === undefined || !(isObject(value) || Array.isArray(value))) return readTextLog(place);
  const logs = logsIn(value, '', 0);
  const most = Math.max(0, ...logs.map(({ rows }) => rows.length));
  // A list of a few evaluations beside a long log is no run of its own.
  const longest = logs.filter(({ rows }) => rows.length >= most / 2);
  const maps = mapsIn(value, logs, '', 0);
  const added = maps.map((map) => addMap(map, longest));
  const runs = longest.flatMap(collected);
  if (runs.length === 0) throw noRows(path, value);
  const isRow = logs.some(({ path: at }) => at === '');
  const settings = isObject(value) && !isRow ? flatSettings(withoutLists(value)) : {};
  return readingOf({
    files: [path],
    runs,
    kind: ({ names }) => `${producerOf(names).name} metrics, JSON`.replace(/^unknown /, ''),
    hints: settingsMeaning(settings),
    broken: new BrokenParts(),
    notes: [
      ...logs
        .filter(({ path: at }) => at !== '')
        .map(({ path: at, rows }) => `${counted(rows.length, 'row')} at ${at}.`)
        .slice(0, 3),
      ...added.slice(0, 3),
    ],
  });
}

/** The text of a file of moderate size. */
export const wholeText = (path: string): string => [...chunksOf(path)].join('').replace(/^\ufeff/, '');

interface JsonRows {
  /** Keys that lead to it. */
  path: string;
  rows: MetricRow[];
  /** Whether each column is an object by row. */
  isOfMaps?: boolean;
  /** Whether each row is an object under its step. */
  isOfRows?: boolean;
}

function logsIn(value: unknown, path: string, level: number): JsonRows[] {
  if (level > MOST_LEVELS) return [];
  if (Array.isArray(value)) {
    const rows = value.filter(isObject).flatMap((row) => metricRow(row) ?? []);
    if (rows.length > 0) return [{ path, rows }];
    return value.slice(0, 1000).flatMap((item, i) => logsIn(item, `${path}[${i}]`, level + 1));
  }
  if (!isObject(value)) return [];
  const columns = columnsOf(value);
  if (columns) return [{ path, ...columns }];
  const rows = byStep(value);
  if (rows) return [{ path, rows, isOfRows: true }];
  const inside = Object.entries(value).flatMap(([key, item]) =>
    logsIn(item, path === '' ? key : `${path}.${key}`, level + 1),
  );
  if (inside.length > 0 || level > 0) return inside;
  const row = metricRow(value);
  return row ? [{ path, rows: [row] }] : [];
}

/** Rows of columns: lists of one length, a metric of training among them; or pandas' objects by row, or by step. */
function columnsOf(value: Readonly<Record<string, unknown>>): Omit<JsonRows, 'path'> | undefined {
  const columns = Object.entries(value).flatMap(([name, column]) => {
    const list = Array.isArray(column) ? column : isByRow(column) ? Object.values(column) : undefined;
    return list && list.length > 0 && list.every((item) => item === null || numberOf(item) !== undefined)
      ? [{ name, list, keys: Array.isArray(column) ? undefined : Object.keys(column as object).map(Number) }]
      : [];
  });
  const metric = columns.find(({ name }) => isMetricName(name));
  if (!metric) return undefined;
  const count = metric.list.length;
  const isOfMaps = metric.keys !== undefined;
  const same = columns.filter(({ list, keys }) => list.length === count && (keys !== undefined) === isOfMaps);
  const steps = metric.keys?.every((key, i) => key === i) ? undefined : metric.keys;
  const rows = Array.from({ length: count }, (_, i) =>
    metricRow(Object.fromEntries(same.map(({ name, list }) => [name, list[i]]))),
  );
  return {
    rows: rows.flatMap((row, i) => (row ? [{ ...(steps && { step: steps[i]! }), ...row }] : [])),
    isOfMaps,
  };
}

/** Values of one metric by step: `"eval_history": {"100": 0.3, "200": 0.4}`. */
interface StepMap {
  name: string;
  values: [step: number, value: number][];
}

const STEP_KEY = /^(?:step|iter|iteration)?[_ -]?(\d+)$/i;
/** Words for a map behind the name of its metric. */
const BY_STEP = /_(?:history|curve|by_step|per_step)$/i;

/** The maps in a document that no log was read from. */
function mapsIn(value: unknown, logs: readonly JsonRows[], path: string, level: number): StepMap[] {
  if (level > MOST_LEVELS || !isObject(value)) return [];
  const own = logs.find((log) => log.path === path);
  if (own?.isOfRows) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    if (!isObject(item)) return [];
    const values = Object.entries(item).flatMap(([key, one]): [number, number][] => {
      const [step, number] = [STEP_KEY.exec(key)?.[1], numberOf(one)];
      return step === undefined || number === undefined ? [] : [[Number(step), number]];
    });
    const isMap = values.length > 0 && values.length === Object.keys(item).length;
    if (!isMap) return mapsIn(item, logs, path === '' ? name : `${path}.${name}`, level + 1);
    return own?.isOfMaps && values.length === own.rows.length ? [] : [{ name, values }];
  });
}

/** Adds the values of a map to the only log of the document, by their steps; says what came of them. */
function addMap({ name, values }: StepMap, logs: readonly JsonRows[]): string {
  const [log, another] = logs;
  const what = `${name} has ${counted(values.length, 'value')} by step`;
  const bare = name.replace(BY_STEP, '');
  const metric = isMetricName(bare) ? bare : name;
  const steps = new Map(log?.rows.map((row) => [row.step, row]));
  const isOwn = isEvaluation({ [metric]: 0 });
  if (!log || another || steps.has(undefined) || !(isOwn || values.every(([step]) => steps.has(step))))
    return `${what}, which are no steps of the one log here: left out.`;
  for (const [step, value] of values) {
    const row = isOwn ? undefined : steps.get(step);
    if (row) row.values[metric] ??= value;
    else log.rows.push({ step, values: { [metric]: value }, names: [metric] });
  }
  log.rows.sort((a, b) => a.step! - b.step!);
  return `${what}: read beside the log.`;
}

const isByRow = (column: unknown): column is Record<string, unknown> =>
  isObject(column) && Object.keys(column).length > 0 && Object.keys(column).every((key) => /^\d+$/.test(key));

/** Rows under the numbers of their steps: `{"10": {…}}`, `{"step_10": {…}}`. */
function byStep(value: Readonly<Record<string, unknown>>): MetricRow[] | undefined {
  const entries = Object.entries(value);
  const rows = entries.flatMap(([key, item]) => {
    const step = /^(?:step|iter|iteration|epoch)?[_ -]?(\d+)$/i.exec(key)?.[1];
    const row = step !== undefined && isObject(item) ? metricRow(item) : undefined;
    return row ? [{ ...row, step: row.step ?? Number(step) }] : [];
  });
  return rows.length > 0 && rows.length >= entries.length / 2 ? rows : undefined;
}

function collected({ rows }: JsonRows): CollectedLog[] {
  const collector = new Collector();
  for (const row of rows) collector.add(row);
  return collector.finish();
}

/** Settings stand beside the lists of rows. */
const withoutLists = (value: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([, item]) => !Array.isArray(item)));

function noRows(path: string, value: object): FormatError {
  const text = JSON.stringify(value).slice(0, 100_000);
  const evaluates = /"\w*(accuracy|score|pass_?(at|@)|win_rate|f1)\w*"/i.test(text);
  const what = evaluates
    ? 'this looks like the summary of an evaluation: it has scores, and no metrics of training over steps'
    : 'this JSON has no metrics of training in it: no loss, no reward, no KL';
  return new FormatError(path, what, {
    hint: 'Give the log of the training: trainer_state.json, metrics as JSON Lines, or the console’s output.',
  });
}
