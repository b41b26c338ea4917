import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare, losses } from '../plants.test.helper.js';

const gradient = (norm: number) => (record: StepRecord) => {
  record.updates![1]!.gradNorm = norm;
};

testLogCheck('B45.masks', [
  {
    name: 'none',
    metrics: { masked_positions: [40, 0], loss: [0.1, 0] },
    verdict: 'fail',
    evidence: { step: 2 },
  },
  { name: 'some', metrics: { masked_positions: [40, 1], loss: [0.1, 0.1] }, verdict: 'pass' },
]);

testLogCheck('B45.log', [
  {
    name: 'a critic whose loss is NaN',
    metrics: {
      reward: times(2, 0.1),
      'critic/vf_loss': times(2, Number.NaN),
      'critic/score': times(2, Number.NaN),
    },
    verdict: 'fail',
    measured: { what: 'critic/vf_loss', broken: 2 },
  },
  {
    name: 'a KL that is NaN in the end',
    metrics: { loss: times(4, 0.1), kl: [0.1, 0.1, Number.NaN, Number.NaN] },
    verdict: 'fail',
    evidence: { step: 3, text: 'kl' },
    measured: { what: 'KL', broken: 2, step: 3 },
  },
  {
    name: 'a KL that is never a number, at β = 0 or who knows',
    metrics: { loss: times(4, 0.1), kl: times(4, Number.NaN) },
    verdict: 'pass',
  },
  {
    name: 'a KL that is never a number, and in the loss',
    metrics: { loss: times(4, 0.1), kl: times(4, Number.NaN) },
    declared: { kl: { beta: 0.04 } },
    verdict: 'fail',
  },
  {
    name: 'a KL that some entries lack',
    metrics: { loss: times(4, 0.1), kl: [0.1, Number.NaN, 0.1, 0.1] },
    verdict: 'pass',
  },
  {
    name: 'NaN',
    metrics: { loss: [0.1, Number.NaN], grad_norm: [1, 1] },
    verdict: 'fail',
    evidence: { step: 2, text: 'loss' },
  },
  {
    name: 'overflow of float16',
    metrics: { loss: [0.1, 0.1], grad_norm: [Number.POSITIVE_INFINITY, 1] },
    declared: { dtype: 'float16' },
    verdict: 'pass',
  },
]);

testLogCheck('B45.kl', [
  {
    name: 'NaN in one of twelve',
    metrics: { kl: [...times(5, 0.1), Number.NaN, ...times(6, 0.1)] },
    verdict: 'inform',
    evidence: { step: 6, text: 'kl' },
    measured: { entries: 12, broken: 1, step: 6 },
  },
  {
    name: 'NaN in every other entry, as of a logger that measures it seldom',
    metrics: { kl: Array.from({ length: 12 }, (_, i) => (i % 2 ? Number.NaN : 0.1)) },
    verdict: 'pass',
  },
  {
    name: 'NaN at the end, which is judged elsewhere',
    metrics: { kl: [...times(11, 0.1), Number.NaN] },
    verdict: 'pass',
  },
]);

testLogCheck('B45.zero-log', [
  {
    name: 'without one, where rewards differ and all is truncated',
    metrics: {
      loss: times(4, 0),
      grad_norm: times(4, 0),
      reward: [0.3, 0.4, 0.3, 0.4],
      reward_std: times(4, 0.2),
      'completions/clipped_ratio': times(4, 1),
    },
    verdict: 'warn',
    measured: { differ: true, isCut: true },
  },
  { name: 'with a gradient', metrics: { loss: times(4, 0), grad_norm: times(4, 0.3) }, verdict: 'pass' },
  {
    name: 'without one',
    metrics: { loss: times(4, 0), grad_norm: times(4, 0) },
    verdict: 'warn',
    measured: { isSame: false },
  },
  {
    name: 'without one, where all completions are right',
    metrics: { loss: times(4, 0), grad_norm: times(4, 0), reward: times(4, 1), reward_std: times(4, 0) },
    verdict: 'warn',
    measured: { differ: false, isSame: true },
  },
  {
    name: 'without one, in a log that has no loss',
    metrics: { grad_norm: times(5, 0), policy_loss: times(5, 0) },
    verdict: 'warn',
    measured: { loss: 0 },
  },
  { name: 'who knows', metrics: { loss: times(4, 0) }, verdict: 'not applicable' },
  {
    name: 'a gradient that is printed as 0.000',
    metrics: { loss: times(4, 0), grad_norm: times(4, 0) },
    series: { decimals: { grad_norm: 3 } },
    verdict: 'not applicable',
  },
]);

testStepCheck('B45.finite', [
  {
    name: 'a loss of NaN',
    plant: losses(0.1, Number.NaN),
    verdict: 'fail',
    evidence: { values: { update: 2 } },
  },
  { name: 'a gradient that overflowed', plant: gradient(Number.POSITIVE_INFINITY), verdict: 'fail' },
  {
    name: 'a gradient that overflowed in float16, which the scaler skips',
    plant: all(gradient(Number.POSITIVE_INFINITY), declare({ dtype: 'float16' })),
    verdict: 'inform',
  },
  {
    name: 'a loss of NaN in float16',
    plant: all(losses(Number.NaN), gradient(Number.NaN), declare({ dtype: 'float16' })),
    verdict: 'fail',
  },
]);

testStepCheck('B45.empty', [
  {
    name: 'everything is masked',
    plant: ({ scored }) => void scored!.mask!.fill(0),
    verdict: 'fail',
    measured: { empty: 24 },
  },
  {
    name: 'everything is masked as if it had been cut off, and nothing was',
    plant: ({ scored, completions, declared }) => {
      scored!.mask!.fill(0);
      completions!.finish!.fill('stop');
      declared!.objective!.maskTruncated = true;
    },
    verdict: 'fail',
    measured: { ended: true },
  },
  {
    name: 'everything was cut off, and is masked as declared',
    plant: ({ scored, completions, declared }) => {
      scored!.mask!.fill(0);
      completions!.finish!.fill('length');
      declared!.objective!.maskTruncated = true;
    },
    verdict: 'warn',
    measured: { truncated: true },
  },
  {
    name: 'nothing to learn',
    plant: ({ scored, advantages }) => {
      scored!.mask!.fill(0);
      advantages!.fill(0);
    },
    verdict: 'not applicable',
  },
]);
