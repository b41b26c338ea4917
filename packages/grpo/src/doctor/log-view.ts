import { withoutNaN } from '../maths/moments.js';
import type { Declared, MetricSeries, MetricsEntry } from '../trace/index.js';
import { METRICS, RunCourse } from './course/run-course.js';
import type { Evidence } from './outcome.js';

/** Scalar metrics as a check sees them. */
export class LogView {
  readonly #columns = new Map<string, Float64Array>();
  #names: Set<string> | undefined;
  readonly #asked = new Set<string>(Object.values(METRICS).map(({ name }) => name));
  /** What moved over the run, and when. */
  readonly course: RunCourse;

  constructor(
    readonly series: MetricSeries,
    /** What the run says that it does; empty where nothing is known. */
    readonly declared: Declared = {},
  ) {
    this.course = new RunCourse(series);
  }

  /** The step of each entry. */
  get steps(): number[] {
    return this.series.entries.map(({ step }) => step);
  }

  /** Whether any entry has the metric, as a number. */
  has(name: string): boolean {
    this.#asked.add(name);
    return this.series.entries.some(
      ({ values: { [name]: value } }) => value !== undefined && !Number.isNaN(value),
    );
  }

  /** Whether the log-probs are a masked-diffusion model's: estimates, which the completions were not sampled from. */
  get isEstimated(): boolean {
    return this.declared.diffusion !== undefined || this.has('masked_positions');
  }

  /** The metric at each entry, NaN where an entry lacks it. */
  column(name: string): Float64Array {
    this.#asked.add(name);
    let column = this.#columns.get(name);
    if (!column) {
      column = Float64Array.from(this.series.entries, ({ values }) => values[name] ?? Number.NaN);
      this.#columns.set(name, column);
    }
    return column;
  }

  /** How many steps the entries with a metric tell of; an entry counts as one where the log does not say. */
  stepsWith(name: string): number {
    return withoutNaN(this.column(name)).length * (this.series.stepsPerEntry ?? 1);
  }

  /** Whether a metric is printed with few decimals: its 0.000 may be any small number. */
  isRounded(name: string): boolean {
    return this.series.decimals?.[name] !== undefined;
  }

  /** Names of the metrics, in the order of their first appearance, that match. */
  names(pattern: RegExp): string[] {
    const found = this.#all.filter((name) => pattern.test(name));
    for (const name of found) this.#asked.add(name);
    return found;
  }

  get #all(): string[] {
    this.#names ??= new Set(this.series.entries.flatMap(({ values }) => Object.keys(values)));
    return [...this.#names];
  }

  /** Metrics of a script of one's own that no check has asked for: their names may be unknown here. */
  get unread(): string[] {
    if (measuresBefore(this)) return [];
    return this.#all.filter((name) => !this.#asked.has(name) && !OF_THE_MACHINE.test(name));
  }
}

/** Times, speeds and memory: nothing that a check of GRPO could read. */
export const OF_THE_MACHINE =
  /(^|[/_ ])(time|sec(ond)?s?|s|ms|elapsed|wall\w*|epoch|tps|tok_s|\w*_per_sec(ond)?|mem(ory)?|gpu\w*|timestamp|runtime)($|[/_ ])/i;

/** A metric at an entry, as evidence. */
export const at = (log: LogView, index: number, text: string, value: number): Evidence => ({
  step: log.series.entries[index]!.step,
  text,
  values: { value },
});

/** The value that a metric has at a step, as evidence of a change: the levels of both sides are not the entry's own. */
export function entryAt({ course }: LogView, metric: string, step: number): Evidence {
  const points = metric === METRICS.flat.name ? course.flatShares : course.pointsOf(metric);
  const own = points.find((point) => point.step === step);
  return { step, text: metric, ...(own && { values: { value: own.value } }) };
}

/** A metric at the first entry that has it, as evidence of what holds from the start. */
export function fromTheStart(log: LogView, name: string): Evidence[] {
  const index = log.column(name).findIndex((value) => !Number.isNaN(value));
  return [at(log, index, name, log.column(name)[index]!)];
}

/** Names of the reward functions in a log. */
export const rewardNames = (log: LogView): string[] => log.names(/^rewards\/.+\/mean$/).map(functionOf);

/** Name of the reward function that a metric `rewards/NAME/mean` is of. */
export const functionOf = (metric: string): string => metric.slice('rewards/'.length, -'/mean'.length);

/** Several metrics at an entry, as evidence. */
export const valuesAt = (log: LogView, index: number, names: readonly string[]): Evidence => ({
  step: log.steps[index]!,
  values: Object.fromEntries(names.map((name) => [name, log.column(name)[index]!])),
});

/** Fewer entries without a step may be an excerpt from anywhere. */
const FEWEST_OF_A_RUN = 8;

/** Whether an entry of this step tells of the first step of the run. */
export function isOfFirstStep({ series }: LogView, step: number): boolean {
  const { entries, isCounted, countsFrom = 1, stepsPerEntry = 1 } = series;
  // A part of an epoch tells no step.
  return (
    Number.isInteger(step) &&
    step < countsFrom + stepsPerEntry &&
    !(isCounted && entries.length < FEWEST_OF_A_RUN)
  );
}

/** Whether an entry of this step is the first of the run, though it may average over several steps. */
export const isOfFirstEntry = (log: LogView, step: number): boolean =>
  isOfFirstStep(log, step) || step === log.series.stepsPerEntry;

/**
 * The entry that has the KL of the first step alone; one of an evaluation may come before it. Of several updates from a
 * rollout, the later ones have a KL of their own.
 */
export function klOfStepOne(log: LogView): MetricsEntry | undefined {
  const { entries, stepsPerEntry } = log.series;
  if ((log.declared.updatesPerRollout ?? 1) > 1) return undefined;
  if (!measuresBefore(log)) return undefined;
  const first = entries.find(({ values }) => Number.isFinite(values.kl));
  // A script that shares names with TRL may log several updates: clipped tokens show one.
  if (log.series.producer.name === 'TRL' && (first?.values['clip_ratio/region_mean'] ?? 0) > 0)
    return undefined;
  return stepsPerEntry === 1 && first && isOfFirstStep(log, first.step) ? first : undefined;
}

/**
 * Indices of the entries before any update: the learning rate is 0 in each up to there, as in a warm-up that begins at 0.
 * Whenever a trainer measures, the policy is still what it began as. None where the log begins later, or rounds the rate.
 */
export function beforeUpdates(log: LogView): number[] {
  if (log.isRounded('learning_rate') || !isOfFirstStep(log, log.steps[0]!)) return [];
  const rates = log.column('learning_rate');
  const first = rates.findIndex((rate) => rate !== 0);
  return [...rates.keys()].slice(0, first < 0 ? rates.length : first);
}

/**
 * Index of the entry of the first step where its KL to the reference is exactly 0, and the next one's is above: that KL was
 * measured before any update. The entry's other metrics may be means over the updates of the step.
 */
export function unmoved(log: LogView): number[] {
  const kl = log.column('kl');
  const first = kl.findIndex((value) => !Number.isNaN(value));
  const isFirst = first >= 0 && isOfFirstStep(log, log.steps[first]!) && !log.isRounded('kl');
  return isFirst && kl[first] === 0 && kl[first + 1]! > 0 ? [first] : [];
}

/** Logs of scripts that people write themselves. */
const SCRIPTS: readonly string[] = ['unknown', 'transformers', 'CS336'];

/**
 * Whether a trainer is known to measure the KL before the update: a script of one's own may do it afterwards, and its names
 * may be some of TRL's, which logs the epoch, too.
 */
export function measuresBefore(log: LogView): boolean {
  const { name } = log.series.producer;
  return !SCRIPTS.includes(name) && (name !== 'TRL' || log.has('epoch') || log.has('num_tokens'));
}
