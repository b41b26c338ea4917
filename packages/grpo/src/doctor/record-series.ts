/** Metrics of a run out of its step records, for runs that left no log. */
import { mean, withoutNaN } from '../maths/moments.js';
import type { MetricSeries, MetricsEntry, StepRecord } from '../trace/index.js';
import { updateRows } from './inputs.js';
import { firstMasks } from './measures/first-update.js';

/** The metrics of a step that its record has whole; those of which a check of records judges more are left to it. */
export function entryOf(record: StepRecord): MetricsEntry {
  const { step, rewards, completions, updates } = record;
  const values: Record<string, number> = {};
  const note = (name: string, numbers: ArrayLike<number> | undefined) => {
    const own = withoutNaN(numbers ?? []);
    if (own.length > 0) values[name] = mean(own);
  };
  note('reward', rewards?.totals);
  const B = rewards?.totals?.length ?? 0;
  for (const [k, name] of (rewards?.names ?? []).entries())
    note(`rewards/${name}/mean`, rewards?.values?.subarray(k * B, (k + 1) * B));
  note('completions/mean_length', completions?.lengths);
  note(
    'completions/clipped_ratio',
    completions?.finish?.map((reason) => Number(reason === 'length')),
  );
  const last = updates?.at(-1);
  note('learning_rate', last?.learningRate === undefined ? [] : [last.learningRate]);
  note('grad_norm', last?.gradNorm === undefined ? [] : [last.gradNorm]);
  note('entropy', entropiesOf(record));
  return { step, values };
}

function entropiesOf(record: StepRecord): number[] | undefined {
  const rows = updateRows(record, record.updates?.[0], 'entropies');
  const masks = rows && firstMasks(record);
  return rows?.flatMap((row, i) => [...row].filter((_, t) => masks?.[i]?.[t] !== 0));
}

/** The entries of records in place of a log. */
export const seriesOfRecords = (entries: readonly MetricsEntry[]): MetricSeries => ({
  entries: [...entries].sort((a, b) => a.step - b.step),
  producer: { name: 'step records' },
  stepsPerEntry: 1,
});
