import { expect } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { change, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare } from '../plants.test.helper.js';

testStepCheck('B49.nonnegative', [
  {
    name: 'below 0',
    into: { step: 5 },
    plant: (record) => void record.updates![0]!.klTerms!.fill(-0.1, 60, 61),
    verdict: 'fail',
    evidence: { values: { kl: expect.closeTo(-0.1) } },
  },
  {
    name: 'overflow',
    into: { step: 5 },
    plant: (record) => void record.updates![0]!.klTerms!.fill(Number.POSITIVE_INFINITY, 60, 61),
    verdict: 'fail',
  },
  {
    name: '|d| below 0',
    into: { step: 5 },
    plant: all(
      (record) => void record.updates![0]!.klTerms!.fill(-0.1, 60, 61),
      declare({ kl: { estimator: 'abs' } }),
    ),
    verdict: 'fail',
  },
  {
    name: 'k1 may be',
    into: { step: 5 },
    plant: declare({ kl: { estimator: 'k1' } }),
    verdict: 'not applicable',
  },
  {
    name: 'rounding of bfloat16',
    into: { step: 5 },
    plant: all((record) => void record.updates![0]!.klTerms!.fill(-0.004), declare({ dtype: 'bfloat16' })),
    verdict: 'pass',
  },
  ...(
    [
      ['rounding of the logits in a full KL', -5e-6, 'token', 'pass'],
      ['more of a token', -2e-5, 'token', 'fail'],
      ['as much of a whole completion', -2e-5, 'sequence_sum', 'pass'],
      ['more than all of its tokens round', -0.1, 'sequence_sum', 'fail'],
    ] as const
  ).map(([name, kl, level, verdict]) => ({
    name,
    into: { step: 5 },
    plant: all(
      (record: StepRecord) => void record.updates![0]!.klTerms!.fill(kl),
      declare({ kl: { estimator: 'full', level } }),
    ),
    verdict,
  })),
  {
    name: 'no estimate declared',
    plant: ({ declared }) => void delete declared!.kl!.estimator,
    verdict: 'not applicable',
  },
]);

testStepCheck('B49.share', [
  {
    name: 'one token has it all',
    into: { step: 5 },
    plant: (record) => change(record, 'klTerms', (_, i) => (i === 90 ? 80_000 : 1e-3)),
    verdict: 'inform',
  },
  {
    name: 'sums over completions',
    into: { step: 5 },
    plant: declare({ kl: { level: 'sequence_sum' } }),
    verdict: 'not applicable',
  },
  {
    name: 'a masked token has it all',
    into: { step: 5 },
    plant: (record) => {
      change(record, 'klTerms', (value, i) => (i === 90 ? 80_000 : value));
      record.scored!.mask![90] = 0;
    },
    verdict: 'pass',
  },
]);

testLogCheck('B49.log', [
  {
    name: 'below 0',
    metrics: { kl: [0.1, -0.2] },
    declared: { kl: { estimator: 'k3' } },
    verdict: 'fail',
    evidence: { step: 2 },
  },
  {
    name: 'rounding of bfloat16',
    metrics: { kl: [0, -2e-4] },
    declared: { kl: { estimator: 'k3' } },
    verdict: 'pass',
  },
  {
    name: 'k1 may be',
    metrics: { kl: [0.1, -0.2] },
    declared: { kl: { estimator: 'k1' } },
    verdict: 'not applicable',
  },
]);

testLogCheck('B49.sign', [
  {
    name: 'a sign that is turned',
    metrics: { kl: times(20, (i) => -0.01 * i) },
    verdict: 'inform',
    measured: { entries: 20, mean: expect.closeTo(-0.095) },
  },
  { name: 'noise around 0', metrics: { kl: times(20, (i) => 0.01 * Math.sin(i * i)) }, verdict: 'pass' },
  { name: 'rounding', metrics: { kl: times(20, -1e-5) }, verdict: 'pass' },
  { name: 'a KL', metrics: { kl: times(20, (i) => 0.01 * i) }, verdict: 'pass' },
  { name: 'few entries', metrics: { kl: times(7, -0.1) }, verdict: 'pass' },
  {
    name: 'an estimate that cannot be negative',
    metrics: { kl: times(20, -0.1) },
    declared: { kl: { estimator: 'k3' } },
    verdict: 'inform',
  },
]);

testLogCheck('B49.explosion', [
  {
    name: 'one that begins at its largest, which no update made',
    metrics: { kl: [900, 80, 7, 2, 1.5] },
    series: { stepsPerEntry: 10 },
    firstStep: 10,
    verdict: 'not applicable',
  },
  {
    name: 'with its sign turned',
    metrics: { kl: times(20, (i) => -0.2 * i) },
    verdict: 'warn',
    measured: { far: 14, most: expect.closeTo(3.8) },
  },
  {
    name: 'spikes in a run that learns',
    metrics: {
      kl: times(80, (i) => (i % 4 === 3 ? 50 : 0.3)),
      reward: times(80, (i) => 0.3 + i / 200 + 0.05 * (i % 2)),
    },
    verdict: 'inform',
  },
  { name: 'one entry', metrics: { kl: [0.1, 0.1, 80_000] }, verdict: 'warn', evidence: { step: 3 } },
  {
    name: 'one entry alone, of a later step',
    metrics: { kl: [1678] },
    series: { producer: { name: 'TRL' } },
    firstStep: 20,
    verdict: 'warn',
    measured: { entries: 1, most: 1678, step: 20 },
  },
  {
    name: 'one entry alone, of step 1',
    metrics: { kl: [1678], epoch: [0.1] },
    series: { producer: { name: 'TRL' } },
    verdict: 'not applicable',
  },
  { name: 'a KL that rises', metrics: { kl: [0, 0.05, 0.3] }, verdict: 'pass' },
  {
    name: 'nats, from an early step on',
    metrics: { kl: times(30, (i) => (i < 5 ? 0.01 * i : 2.5)) },
    verdict: 'warn',
    measured: { step: 6, far: 25 },
  },
  {
    name: 'nats that the reward pays for',
    metrics: { kl: times(40, (i) => i / 20), reward: times(40, (i) => i / 40), reward_std: times(40, 0.3) },
    verdict: 'inform',
  },
  {
    name: 'a jump that healed',
    metrics: { kl: times(40, (i) => (i === 20 ? 4 : 0.1)) },
    verdict: 'inform',
    measured: { step: 21, far: 1 },
  },
  { name: 'one jump in a short log', metrics: { kl: [0.2, 0.4, 0.2, 0.2, 1.7, 0.1] }, verdict: 'inform' },
  {
    name: 'about as large from the first entry on',
    metrics: {
      kl: [1.55, 1.59, 1.72, 1.97, 2, 2.21, 1.98],
      reward: [0.86, 0.93, 1.12, 1.4, 1.46, 1.58, 1.57],
    },
    verdict: 'inform',
    measured: { before: true },
  },
  { name: 'nats in every entry, and other ones', metrics: { kl: [1e9, 533] }, verdict: 'warn' },
  { name: 'nats in every entry, which is no drift', metrics: { kl: times(9, 11) }, verdict: 'pass' },
  {
    name: 'sums over completions',
    metrics: { kl: [0.1, 0.1, 80] },
    declared: { kl: { level: 'sequence_sum' } },
    verdict: 'not applicable',
  },
]);
