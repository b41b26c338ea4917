import { BrokenParts, type BrokenSummary, type Reading } from '../reading.js';
import type { CollectedLog } from '../rows/run-collector.js';
import { type Hints, seriesOf } from './series-of.js';

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
  const readings = runs.map((run): Reading => {
    const { series, declared, isGrpo, notes: own } = seriesOf(run, hints);
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

/** `, lines 3 to 90` */
function linesOf({ series }: Reading): string {
  const lines = series!.entries.flatMap(({ line }) => line ?? []);
  if (lines.length === 0) return '';
  return `, lines ${Math.min(...lines.slice(0, 9))} to ${Math.max(...lines.slice(-9))}`;
}
