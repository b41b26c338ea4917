import { mean } from '../../../maths/moments.js';
import type { Declared } from '../../declared.js';
import type { MetricSeries } from '../../series.js';

/** What a trainer calls its metrics, and what its numbers mean. */
export interface Producer {
  name: string;
  /** Whether a log with these names is its own. */
  wrote(names: ReadonlySet<string>): boolean;
  /** TRL's name for each of its own that has one, with a factor where the unit differs; the first to come wins. */
  names?: Readonly<Record<string, string | readonly [name: string, factor: number]>>;
  /** The same for families of names. */
  patterns?: readonly (readonly [RegExp, string])[];
  /** Adds what follows from several of its metrics, in TRL's names. */
  derive?(values: Record<string, number>): void;
  /** Whether an entry is a mean over the steps since the last entry, rather than one step. */
  averages: boolean;
  /** How its numbers are to be read. */
  meaning?(entries: MetricSeries['entries']): Partial<MetricSeries>;
  /** What follows of the settings from the metrics that are there. */
  declares?(entries: MetricSeries['entries']): Declared;
}

/** Sets the deviation of the rewards to 0 where their extremes are one value, for a log that has no deviation. */
export function deviationOf(values: Record<string, number>, least: string, most: string): void {
  if (values[least] !== undefined && values[least] === values[most]) values.reward_std = 0;
}

/** Tells whether all advantages of a step are 0, for a log that has their extremes. */
export function zeroAdvantages(values: Record<string, number>): void {
  const { 'advantages/min': lowest, 'advantages/max': highest, 'advantages/mean': middle } = values;
  // A mean of 0 under a maximum of 0 is one of zeros.
  const other = lowest ?? middle;
  if (highest !== undefined && other !== undefined)
    values['advantages/all_zero'] = Number(highest === 0 && other === 0);
}

/** Counts of groups that are solved by none, some or all of their completions, as a share of those without differences. */
export function solvedGroups(values: Record<string, number>): void {
  const counts: Record<string, number> = {};
  for (const name of Object.keys(values)) {
    const by = SOLVED.exec(name)?.[1];
    if (by !== undefined) counts[by.toLowerCase()] = values[name]!;
  }
  const { none, partial, all } = counts;
  if (none !== undefined && partial !== undefined && all !== undefined)
    values.frac_reward_zero_std ??= (none + all) / (none + partial + all);
}

/** `batch/solve_none`, `Solve All`. */
const SOLVED = /(?:^|\/)solve[ _](none|partial|all)$/i;

/** The mean of those that are there, as `target`. */
export function meanOf(values: Record<string, number>, target: string, sources: readonly string[]): void {
  const known = sources.flatMap((name) => values[name] ?? []);
  if (known.length > 0) values[target] ??= mean(known);
}
