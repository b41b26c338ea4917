import { expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare, facts, half, judgeRun } from '../plants.test.helper.js';
import { richRecord } from '../rich-record.test.helper.js';

testStepCheck('B51.start', [
  {
    name: 'another reference',
    plant: ({ scored, probes }) => {
      scored!.referenceLogprobs = scored!.referenceLogprobs!.map((value) => value - 0.2);
      probes!.checksums!.policy = 8;
    },
    verdict: 'fail',
  },
  {
    name: 'kernels of bfloat16',
    plant: all(
      ({ scored }) => {
        scored!.referenceLogprobs = scored!.referenceLogprobs!.map((value) => value - 0.01);
      },
      declare({ dtype: 'bfloat16' }),
    ),
    verdict: 'pass',
  },
  {
    name: 'equal weights, scored otherwise',
    plant: ({ scored }) => {
      scored!.referenceLogprobs = scored!.referenceLogprobs!.map((value) => value - 0.2);
    },
    verdict: 'not applicable',
  },
  {
    name: 'a policy that is scored otherwise than it samples',
    plant: ({ scored, completions, updates, probes }) => {
      delete probes!.checksums;
      updates![0]!.policyLogprobs = updates![0]!.policyLogprobs!.map((value) => value - 0.2);
      scored!.referenceLogprobs = completions!.samplerLogprobs!.slice();
    },
    verdict: 'not applicable',
  },
  { name: 'a later step', into: { step: 5 }, plant: () => {}, verdict: 'not applicable' },
]);

testLogCheck('B51.log', [
  { name: 'not 0 at once', metrics: { kl: [1.007, 1] }, verdict: 'fail', evidence: { step: 1 } },
  {
    name: 'sums over completions',
    metrics: { kl: [0.3, 1] },
    declared: { kl: { level: 'sequence_sum' } },
    verdict: 'not applicable',
  },
  {
    name: '|d| of bfloat16',
    metrics: { kl: [0.02, 1] },
    declared: { kl: { estimator: 'abs' }, dtype: 'bfloat16' },
    verdict: 'pass',
  },
  {
    name: 'a loss of one’s own',
    metrics: { kl: [1.007, 1] },
    declared: { ownStages: ['objective'] },
    verdict: 'not applicable',
  },
  {
    name: 'of a trainer that may log it after the update',
    metrics: { kl: [0.02, 0.3] },
    series: { producer: { name: 'unknown' } },
    verdict: 'not applicable',
  },
  { name: 'noise of bfloat16', metrics: { kl: [0.0005, 0.01] }, verdict: 'pass' },
  {
    name: 'averaged over ten steps',
    metrics: { kl: [1.007, 1] },
    series: { stepsPerEntry: 10 },
    verdict: 'not applicable',
  },
  { name: 'a log that begins later', metrics: { kl: [1.007, 1] }, firstStep: 5, verdict: 'not applicable' },
]);

testLogCheck('B51.anchor', [
  {
    name: 'a reference that moves',
    metrics: { 'checksum/reference': [3, 3, undefined, 5, 5] },
    verdict: 'fail',
    measured: { changes: 1 },
    evidence: { step: 4 },
  },
  {
    name: 'one that is declared to move',
    metrics: { 'checksum/reference': [3, 4, 5] },
    declared: { kl: { referenceEvery: 1 } },
    verdict: 'not applicable',
  },
  { name: 'one that stays', metrics: { 'checksum/reference': [3, 3, 3] }, verdict: 'pass' },
]);

testLogCheck('B51.early', [
  {
    name: 'half a nat after two steps of a warm-up',
    metrics: { kl: [0.48, 0.5, 0.47], learning_rate: [6e-8, 2e-7, 4e-7] },
    series: { stepsPerEntry: 2 },
    firstStep: 2,
    verdict: 'warn',
    measured: { steps: 2 },
  },
  {
    name: 'a single entry after the first, of a trainer that counts from 0',
    metrics: { kl: [0.63], learning_rate: [1e-6] },
    series: { producer: { name: 'slime' }, stepsPerEntry: 1, countsFrom: 0 },
    firstStep: 1,
    verdict: 'warn',
    measured: { steps: 1 },
  },
  {
    name: 'after twenty steps that may have moved it',
    metrics: { kl: [0.48, 0.5, 0.47], learning_rate: times(3, 5e-6) },
    series: { stepsPerEntry: 20 },
    firstStep: 20,
    verdict: 'pass',
  },
  {
    name: 'a log that begins later',
    metrics: { kl: [0.48, 0.5], learning_rate: times(2, 1e-9) },
    series: { stepsPerEntry: 2 },
    firstStep: 100,
    verdict: 'not applicable',
  },
]);

const grows = times(40, (i) => 0.02 + i / 2000);
const back = (steps: readonly number[]) => grows.map((value, i) => (steps.includes(i + 1) ? 0 : value));

testLogCheck('B51.again', [
  { name: 'a KL that grows', metrics: { kl: grows }, verdict: 'pass' },
  {
    name: 'weights that were loaded again',
    metrics: { kl: back([15, 30]) },
    verdict: 'warn',
    measured: { times: 2, step: 15 },
  },
  {
    name: 'a reference that follows the policy, as declared',
    metrics: { kl: back([15, 30]) },
    declared: { kl: { referenceEvery: 15 } },
    verdict: 'not applicable',
  },
  { name: 'the first entries and the last', metrics: { kl: back([1, 2, 40]) }, verdict: 'pass' },
  { name: 'a KL near 0 throughout', metrics: { kl: times(40, (i) => (i % 2) / 1e4) }, verdict: 'pass' },
]);

testLogCheck('B51.old', [
  { name: 'two KLs of one model', metrics: { kl: [0.3, 0.4], 'kl/old': [0.25, 0.01] }, verdict: 'pass' },
  {
    name: 'a reference with dropout',
    metrics: { kl: [0.33, 0.3], 'kl/old': [1e-4, 9e-4] },
    verdict: 'warn',
    measured: { kl: 0.33 },
  },
  {
    name: 'a later step',
    metrics: { kl: [0.33], 'kl/old': [1e-4] },
    firstStep: 5,
    verdict: 'not applicable',
  },
]);

/** Gives the reference the policy's log-probs. */
const copied = ({ scored, updates }: StepRecord) => {
  scored!.referenceLogprobs = updates![0]!.policyLogprobs!.slice();
};

const stepsOf = (count: number, change: (record: StepRecord) => void) =>
  Array.from({ length: count }, (_, i) => {
    const record = richRecord({ step: i + 1 });
    change(record);
    return record;
  });

it('B51.follows warns of a reference that is the policy after updates that changed it', () => {
  const warned = { severity: 'warn', measured: { records: 2, from: 2 } };
  expect(judgeRun('B51.follows', stepsOf(3, copied))).toMatchObject(warned);
  expect(
    judgeRun(
      'B51.follows',
      stepsOf(3, () => {}),
    ),
  ).toMatchObject({ verdict: 'pass' });
  const meant = all(copied, declare({ kl: { referenceEvery: 1 } }));
  expect(judgeRun('B51.follows', stepsOf(3, meant))).toMatchObject({ severity: 'inform' });
  const few = { verdict: 'not applicable' };
  expect(judgeRun('B51.follows', stepsOf(2, copied))).toMatchObject(few);
  const still = all(copied, ({ updates }) => {
    for (const update of updates!) update.learningRate = 0;
  });
  expect(judgeRun('B51.follows', stepsOf(3, still))).toMatchObject(few);
  expect(judgeRun('B51.follows', stepsOf(3, all(copied, half)))).toMatchObject(few);
  const seen = all(copied, half, facts({ changedWeightShare: 0.3 }));
  expect(judgeRun('B51.follows', stepsOf(3, seen))).toMatchObject(warned);
});

testLogCheck('B51.falls', [
  {
    name: 'largest at first',
    metrics: { kl: [10_833, 1678, 907, 1291, 65] },
    series: { stepsPerEntry: 10 },
    firstStep: 10,
    verdict: 'warn',
    evidence: { step: 10 },
    measured: { first: 10_833, later: 907 },
  },
  {
    name: 'largest at first, where the updates of a rollout count together',
    metrics: { kl: [17, 1.2, 0.6, 0.3, 0.2] },
    series: { stepsPerEntry: 10 },
    firstStep: 10,
    declared: { updatesPerRollout: 4 },
    verdict: 'not applicable',
  },
  {
    name: 'grows',
    metrics: { kl: [1.2, 30, 60, 90, 100] },
    series: { stepsPerEntry: 10 },
    firstStep: 10,
    verdict: 'pass',
  },
  {
    name: 'an excerpt from later on',
    metrics: { kl: [10_833, 1678, 907, 1291, 65] },
    firstStep: 40,
    verdict: 'not applicable',
  },
]);
