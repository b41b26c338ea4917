import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, type ConfigRecord, configSchema, readRecord, UserError } from '../../config/index.js';
import { excerpt } from '../../errors/printable.js';
import { isObject } from '../../formats/json.js';
import type { Watch } from '../../progress/watch.js';
import { type Declared, declaredByBoth } from '../declared.js';
import { declaredOf } from '../declared-of.js';
import type { StepRecord } from '../record.js';
import { completionRecords } from './completions/completion-lines.js';
import { evaluationCounts } from './completions/evaluation-counts.js';
import { startOfStep } from './completions/start-of-step.js';
import { linesOf } from './lines.js';
import { literal } from './literal.js';
import { type Place, placeOf } from './place.js';
import { ours } from './producers/ours.js';
import { BrokenParts, type Reading } from './reading.js';
import { Collector } from './rows/collector.js';
import { metricRow } from './rows/metric-row.js';
import type { RawEntry } from './rows/run-collector.js';
import { type SeriesReading, seriesOf } from './series/series-of.js';
import { crashIn, recordsIn, stepFolders } from './step-folders.js';

/** What a run of ours is called. */
export const RUN_FOLDER = 'run folder of grpo';
const METRICS = 'metrics.jsonl';
const TIMINGS = 'timings.jsonl';
const COMPLETIONS = 'completions.jsonl';
const EVALUATED = 'eval-completions.jsonl';
const STEPS = 'steps';

/** Stage of a step that was held to a second computation. */
const AUDITED = 'seconds/audit';

/** Whether a folder is that of a run of ours; its metrics may have been cleared away. */
export const isRunFolder = ({ isFolder, names }: Place): boolean =>
  isFolder && names.includes('config.json') && (names.includes(METRICS) || names.includes(TIMINGS));

/** The files of a run that are read, without those of its step records. */
export const filesOf = (path: string): string[] =>
  ['config.json', METRICS, TIMINGS, 'eval.jsonl', EVALUATED, COMPLETIONS]
    .map((name) => join(path, name))
    .filter((file) => existsSync(file));

/** Reads a run's metrics, timings, evaluations, completions and step records. */
export function readRunFolder({ path, names, watch }: Place): Reading {
  const broken = new BrokenParts();
  const notes: string[] = [];
  const record = recordOf(path, notes);
  const declared = record && declaredIn(record, notes);
  const log = readMetrics(path, broken, record, watch);
  const crash = crashIn(path);
  const isGrpo = log?.isGrpo ?? names.includes(STEPS);
  const records = isGrpo ? recordsOf(path, broken, declared) : undefined;
  if (!names.includes(METRICS))
    notes.push(`${METRICS} is not there: only what its other files tell is judged.`);
  else if (log === undefined || !hasSteps(log))
    notes.push(
      `${METRICS} has no row yet: the run has not ended its first step. Where it has stopped, it printed why; started again, it does so again.`,
    );
  notes.push(...(!isGrpo && record?.command === 'sft' ? [ofSft(log)] : (log?.notes ?? [])));
  return {
    kind: crash === undefined ? RUN_FOLDER : `${RUN_FOLDER} that an error ended`,
    files: filesOf(path),
    ...(log && { series: log.series }),
    ...records,
    ...(declared && isGrpo && { declared: declaredByBoth(log?.declared, declared) }),
    isGrpo: isGrpo || records !== undefined,
    broken,
    notes,
    ...(crash !== undefined && { crash }),
  };
}

/** Tells how many steps were audited, of a run that has no record of a wrong one. */
function ofSft(log: SeriesReading | undefined): string {
  const entries = log?.series.entries ?? [];
  const audited = entries.filter(({ values }) => AUDITED in values).length;
  const told =
    audited === 0
      ? 'None of its steps was held to a second computation.'
      : `While it trained, ${audited} of its ${entries.length} steps ${audited === 1 ? 'was' : 'were'} held to a second computation, and none was wrong.`;
  return `This run learned from demonstrations (grpo sft), which the checks of GRPO do not judge. ${told}`;
}

/** The run's configuration, or a note of why there is none. */
function recordOf(path: string, notes: string[]): ConfigRecord | undefined {
  try {
    return readRecord(path);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    notes.push(`The settings are not known: ${error.message.split('\n', 1)[0]}`);
    return undefined;
  }
}

function declaredIn(
  { command, values, ownStages = [] }: ConfigRecord,
  notes: string[],
): Declared | undefined {
  const nested: Record<string, unknown> = {};
  for (const [path, { value, source }] of Object.entries(values)) {
    const keys = path.split('.');
    const last = keys.pop()!;
    let holder = nested;
    for (const key of keys) {
      holder[key] ??= {};
      if (!isObject(holder[key])) return undefined;
      holder = holder[key];
    }
    // A task in code is none that the schema knows; nothing that it sets is asked here.
    if (value !== undefined && source !== 'in code') holder[last] = value;
  }
  const parsed = configSchema.safeParse(nested);
  if (parsed.success) {
    const declared = declaredOf(parsed.data as Config);
    return {
      ...declared,
      // Expert iteration compares no completions: those of a group of equal rewards are learnt as others are.
      ...(command === 'expert' && { advantage: { baseline: 'none' } }),
      ownStages: [...new Set([...(declared.ownStages ?? []), ...ownStages])],
    };
  }
  notes.push('The settings are those of another version of grpo and are not used.');
  return undefined;
}

/** Whether a step of training is among the entries, and not evaluations alone. */
const hasSteps = ({ series }: SeriesReading): boolean =>
  series.entries.some(({ values }) => Object.keys(values).some(isOfTraining));

const isOfTraining = (name: string) => name !== 'step' && !name.startsWith('eval_');

function readMetrics(
  path: string,
  broken: BrokenParts,
  record: ConfigRecord | undefined,
  watch: Watch,
): SeriesReading | undefined {
  const collector = new Collector();
  const metrics = join(path, METRICS);
  if (existsSync(metrics)) readRows(metrics, collector, broken, '', watch);
  const evaluations = join(path, 'eval.jsonl');
  if (existsSync(evaluations)) readRows(evaluations, collector, broken, 'eval_');
  if (collector.rows === 0) return undefined;
  // A run of ours is resumed, never begun anew, in its folder.
  const collected = collector.finish().at(-1)!;
  const timings = join(path, TIMINGS);
  if (existsSync(timings)) addTimings(collected.entries, timings, broken);
  const version = record?.versions.grpo;
  // Supervised training has evaluations with rewards too, and no records of steps.
  const isBegun = [...collected.names].some(isOfTraining);
  const isGrpo = !isBegun || collected.names.has('reward') || existsSync(join(path, STEPS));
  const evaluated = join(path, EVALUATED);
  const reading = seriesOf(collected, { producer: ours, isGrpo, ...(version !== undefined && { version }) });
  if (existsSync(evaluated)) reading.series.evaluations = evaluationCounts(evaluated);
  return reading;
}

function readRows(
  file: string,
  collector: Collector,
  broken: BrokenParts,
  prefix: string,
  watch?: Watch,
): void {
  for (const { line, text } of linesOf(file, 0, watch)) {
    const value = literal(text.trim());
    const row = isObject(value) ? metricRow(prefixed(value, prefix)) : undefined;
    if (row) collector.add(row, line);
    else broken.add({ file, line, reason: `not a row of metrics: ${excerpt(text.trim())}` });
  }
}

const prefixed = (row: Record<string, unknown>, prefix: string) =>
  prefix === ''
    ? row
    : Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name === 'step' ? name : prefix + name, value]),
      );

/** Adds what the machine took to the entries of the same steps. */
function addTimings(entries: readonly RawEntry[], file: string, broken: BrokenParts): void {
  const bySteps = new Map(entries.map((entry) => [entry.step, entry]));
  for (const { line, text } of linesOf(file)) {
    const row = literal(text.trim());
    if (!isObject(row) || typeof row.step !== 'number') {
      broken.add({ file, line, reason: `not a row of timings: ${excerpt(text.trim())}` });
      continue;
    }
    const { step, ...times } = row;
    const numbers = Object.entries(times).filter(
      (pair): pair is [string, number] => typeof pair[1] === 'number',
    );
    Object.assign(bySteps.get(step as number)?.values ?? {}, Object.fromEntries(numbers));
  }
}

/** Step records, and of all other steps what their completions tell, in the order of the steps. */
function recordsOf(
  path: string,
  broken: BrokenParts,
  declared: Declared | undefined,
): Pick<Reading, 'records' | 'textRecord'> | undefined {
  const steps = join(path, STEPS);
  const folders = existsSync(steps) ? stepFolders(placeOf(steps)) : [];
  const file = join(path, COMPLETIONS);
  const full = recordsIn(folders, broken);
  if (!existsSync(file)) return folders.length > 0 ? { records: full } : undefined;
  const context = { producer: { name: 'grpo' }, plainSum: false, ...(declared && { declared }) };
  const partial = completionRecords([file], context, broken);
  return {
    records: { [Symbol.iterator]: () => inOrder(full, partial) },
    textRecord(step) {
      const near = completionRecords([file], context, new BrokenParts(), startOfStep(file, step));
      for (const record of near) if (record.step >= step) return record.step === step ? record : undefined;
      return undefined;
    },
  };
}

function* inOrder(full: Iterable<StepRecord>, partial: Iterable<StepRecord>): Generator<StepRecord> {
  const seconds = partial[Symbol.iterator]();
  let second = seconds.next();
  for (const first of full) {
    for (; !second.done && second.value.step < first.step; second = seconds.next()) yield second.value;
    const rows = !second.done && second.value.step === first.step ? second.value : undefined;
    while (!second.done && second.value.step === first.step) second = seconds.next();
    yield rows ? { ...first, rows } : first;
  }
  for (; !second.done; second = seconds.next()) yield second.value;
}
