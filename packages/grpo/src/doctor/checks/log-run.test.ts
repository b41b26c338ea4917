import { testLogCheck, times } from '../planted.test.helper.js';

const cut = 'completions/clipped_ratio';

testLogCheck('B16.log', [
  {
    name: 'all cut off from the start',
    metrics: { [cut]: times(6, 1) },
    verdict: 'warn',
    measured: { fromStart: true },
  },
  {
    name: 'cut off until it has learnt to end',
    metrics: { [cut]: [...times(10, 1), ...times(20, 0.1)] },
    verdict: 'inform',
    measured: { recovered: true },
  },
  {
    name: 'cut off in the end: it grew',
    metrics: { [cut]: times(40, (i) => Math.min(1, i / 30)) },
    verdict: 'inform',
    measured: { fromStart: false },
  },
]);

testLogCheck('B08.log', [
  { name: 'more and more', metrics: { [cut]: times(40, (i) => Math.min(1, i / 30)) }, verdict: 'warn' },
  { name: 'all from the start', metrics: { [cut]: times(40, 1) }, verdict: 'pass' },
]);

testLogCheck('B59.metrics', [
  {
    name: 'a mean above the longest',
    metrics: { 'completions/mean_length': [20, 20], 'completions/max_length': [30, 10] },
    verdict: 'fail',
    evidence: { step: 2 },
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

testLogCheck('B52.log', [
  {
    name: 'evaluations that never move',
    metrics: {
      reward: times(60, (i) => i % 7),
      eval_reward: times(60, (i) => (i % 10 ? undefined : 0.1875)),
      learning_rate: times(60, 1e-7),
    },
    verdict: 'warn',
    measured: { value: 0.1875 },
  },
  {
    name: 'evaluations that are all right',
    metrics: { reward: times(60, (i) => i % 7), eval_reward: times(60, (i) => (i % 10 ? undefined : 1)) },
    verdict: 'pass',
  },
  {
    name: 'a learning rate of 0: another fault',
    metrics: { reward: times(60, 1), eval_reward: times(60, 0.3), learning_rate: times(60, 0) },
    verdict: 'not applicable',
  },
]);

testLogCheck('B54.rate', [
  { name: 'always 0', metrics: { learning_rate: times(5, 0) }, verdict: 'warn' },
  { name: 'a warm-up from 0', metrics: { learning_rate: [0, 1e-7, 2e-7] }, verdict: 'pass' },
]);

testLogCheck('B54.gradient', [
  {
    name: 'runs away',
    metrics: { grad_norm: times(200, (i) => (i < 120 ? 1 : 1 + (i - 120) / 2)) },
    verdict: 'warn',
  },
  {
    name: 'large in the first steps',
    metrics: { grad_norm: times(200, (i) => (i < 8 ? 40 : 1)) },
    verdict: 'pass',
  },
  {
    name: 'mostly 0 in the end',
    metrics: { grad_norm: times(200, (i) => (i < 100 || i % 10 === 0 ? 1 : 0)) },
    verdict: 'pass',
  },
]);

testLogCheck('B54.clipped', [
  { name: 'always', metrics: { grad_norm: times(20, 24) }, declared: { maxGradNorm: 1 }, verdict: 'inform' },
  { name: 'no clip known', metrics: { grad_norm: times(20, 24) }, verdict: 'not applicable' },
]);

testLogCheck('B60.slow', [
  { name: 'recompilations', metrics: { step_time: times(30, (i) => (i % 5 ? 10 : 100)) }, verdict: 'inform' },
  { name: 'a slow first step', metrics: { step_time: times(30, (i) => (i ? 10 : 100)) }, verdict: 'pass' },
]);
