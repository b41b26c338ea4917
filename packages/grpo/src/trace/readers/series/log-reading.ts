import type { MetricSeries } from '../../series.js';
import { BrokenParts, type BrokenSummary, type Reading } from '../reading.js';
import type { CollectedLog } from '../rows/run-collector.js';
import type { Hints } from './hints.js';
import { seriesOf } from './series-of.js';

/** What was collected from a file. */
export interface Collected {
  files: readonly string[];
  /** The runs in it, in their order. */
  runs: readonly CollectedLog[];
  kind(run: CollectedLog): string;
  hints?: Hints;
  broken: BrokenSummary;
  notes?: readonly string[];
}

/** A reading of a log; of a file with several runs each is a reading of its own. */
export function readingOf({ files, runs, kind, hints, broken, notes = [] }: Collected): Reading {
  const names = new Set(runs.flatMap((run) => [...run.names]));
  const readings = runs.map((run, i): Reading => {
    const { series: whole, declared, isGrpo, notes: told } = seriesOf(run, { ...hints, names });
    const series = runs.length > 1 ? withOwnFacts(whole, runs[i + 1]) : whole;
    const { exception } = series;
    const own = exception ? [...told, `Last exception, line ${exception.line}: ${exception.text}`] : told;
    return { kind: kind(run), files, series, declared, isGrpo, broken: new BrokenParts(), notes: own };
  });
  const [first] = readings;
  if (readings.length === 1) return { ...first!, broken, notes: [...first!.notes, ...notes] };
  return {
    kind: `${first!.kind}, ${readings.length} runs`,
    files,
    runs: readings.map((reading, i) => ({
      name: `run ${i + 1} of ${readings.length}${linesOf(reading)}`,
      read: async () => reading,
    })),
    isGrpo: readings.some(({ isGrpo }) => isGrpo),
    broken,
    notes: [`${readings.length} runs are in this file: each is judged alone.`, ...notes],
  };
}

/**
 * Without what was skipped, which may be of any of the runs, and without the exception where it stands in another run of the
 * file: before this one's first line, or in a later one.
 */
function withOwnFacts(series: MetricSeries, next: CollectedLog | undefined): MetricSeries {
  const { exception, skips: _, ...others } = series;
  const first = series.entries[0]?.line ?? 0;
  const after = next?.entries[0]?.line ?? Number.POSITIVE_INFINITY;
  return exception && exception.line >= first && exception.line < after ? { ...others, exception } : others;
}

/** `, lines 3 to 90` */
function linesOf({ series }: Reading): string {
  const lines = series!.entries.flatMap(({ line }) => line ?? []);
  if (lines.length === 0) return '';
  return `, lines ${Math.min(...lines.slice(0, 9))} to ${Math.max(...lines.slice(-9))}`;
}
