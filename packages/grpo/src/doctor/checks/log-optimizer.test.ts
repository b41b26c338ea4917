import { testLogCheck, times } from '../planted.test.helper.js';

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
