import type { MetricSeries, MetricsEntry } from './series.js';

/** The metrics of a run of ours, a row per step. */
export const ownSeries = (entries: readonly MetricsEntry[]): MetricSeries => ({
  entries,
  producer: { name: 'grpo' },
  stepsPerEntry: 1,
  rewardDeviation: 'batch',
  rewardIsWeighted: true,
});
