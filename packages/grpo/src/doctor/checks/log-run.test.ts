import { testLogCheck, times } from '../planted.test.helper.js';

const cut = 'completions/clipped_ratio';

testLogCheck('B59.metrics', [
  {
    name: 'a mean above the longest',
    metrics: { 'completions/mean_length': [20, 20], 'completions/max_length': [30, 10] },
    verdict: 'fail',
    evidence: { step: 2 },
  },
  {
    name: 'the only step, and an evaluation before it',
    metrics: {
      eval_reward: [0],
      'completions/mean_length': [undefined, 20],
      'completions/max_length': [undefined, 10],
    },
    verdict: 'fail',
    measured: { entries: 1, broken: 1 },
  },
  {
    name: 'none ended, and not all were cut off',
    metrics: { 'completions/mean_length': [20], [cut]: [0.5], 'completions/mean_terminated_length': [0] },
    verdict: 'fail',
  },
  {
    name: 'none ended',
    metrics: { 'completions/mean_length': [20], [cut]: [1], 'completions/mean_terminated_length': [0] },
    verdict: 'pass',
  },
]);

testLogCheck('B45.log', [
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

testLogCheck('B45.zero-log', [
  {
    name: 'with a gradient',
    metrics: { loss: times(4, 0), grad_norm: times(4, 0.3) },
    verdict: 'inform',
    measured: { gradient: true },
  },
  { name: 'without one', metrics: { loss: times(4, 0), grad_norm: times(4, 0) }, verdict: 'warn' },
  { name: 'who knows', metrics: { loss: times(4, 0) }, verdict: 'inform' },
  {
    name: 'a flat step among others',
    metrics: { loss: [0.1, 0, 0.2, 0.1], grad_norm: [1, 0, 1, 1] },
    verdict: 'pass',
  },
]);

testLogCheck('B60.slow', [
  { name: 'recompilations', metrics: { step_time: times(30, (i) => (i % 5 ? 10 : 100)) }, verdict: 'inform' },
  { name: 'a slow first step', metrics: { step_time: times(30, (i) => (i ? 10 : 100)) }, verdict: 'pass' },
]);
