/** Whether a mutant does something wrong, or nothing, or merely draws other numbers. */
import { moments } from '../../maths/moments.js';
import type { RunSummary, Statistics } from './summary.js';

/** The clean runs of a configuration, which its mutants are compared with. */
export interface Baseline {
  clean: RunSummary;
  /** The same run on another number of threads. */
  otherThreads: RunSummary;
  /** Statistics of clean runs at other seeds. */
  others: Statistics[];
}

export type Effect = 'none' | 'another draw' | 'wrong';

/** An effect counts from this many times the one of another number of threads. */
const TIMES = 10;

/**
 * What rounding alone may leave in weights of their length: a float32 holds no more. Small operators run on one thread
 * whatever their number, so that the two runs may be equal to the bit.
 */
const ROUNDING = 2 ** -23;

/** What a run differs in from the clean one of its settings and seed. */
export function effectOf(run: RunSummary, { clean, otherThreads, others }: Baseline): Effect {
  const rounding = ROUNDING * length(clean.final);
  const noise = Math.max(distance(otherThreads.final, clean.final), rounding);
  const isSmall =
    distance(run.final, clean.final) <= TIMES * noise &&
    changedSteps(run, clean) <= TIMES * changedSteps(otherThreads, clean);
  if (isSmall) return 'none';
  return drawsFirst(run, clean) && isAnotherDraw(run.statistics, others) ? 'another draw' : 'wrong';
}

/** Steps whose completions differ. */
const changedSteps = (run: RunSummary, clean: RunSummary) =>
  clean.completions.filter((print, step) => run.completions[step] !== print).length;

/**
 * Whether what differs first is a step's prompts and completions, under weights that are still equal: other draws do
 * that. A fault of the update changes the weights while the completions of the step are equal.
 */
function drawsFirst(run: RunSummary, clean: RunSummary): boolean {
  const draw = clean.completions.findIndex((print, step) => run.completions[step] !== print);
  const update = clean.weights.findIndex((print, step) => run.weights[step] !== print);
  return draw >= 0 && (update < 0 || draw <= update);
}

/**
 * A statistic is another one from this many deviations of the clean seeds on. By Student's distribution of 8 degrees of
 * freedom a draw passes it once in 20,000; there are some 50 statistics.
 */
const DEVIATIONS = 8;

/** Two steps of twenty: what no clean seed has had at all may still happen to one as often as that. */
const RARE = 0.1;

/** Whether the statistics of a run could be those of another seed. */
export function isAnotherDraw(own: Statistics, others: readonly Statistics[]): boolean {
  const names = new Set([own, ...others].flatMap((statistics) => Object.keys(statistics)));
  return [...names].every((name) => {
    const value = own[name];
    const values = others.flatMap((statistics) => statistics[name] ?? []);
    if (values.length < others.length) return values.length > 0;
    if (value === undefined) return false;
    const { mean, deviation } = moments(values, 1);
    const width = deviation > 0 ? DEVIATIONS * deviation * Math.sqrt(1 + 1 / values.length) : RARE;
    return Math.abs(value - mean) <= width;
  });
}

function distance(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  return length(a.map((value, i) => value - b[i]!));
}

const length = (values: Float32Array) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
