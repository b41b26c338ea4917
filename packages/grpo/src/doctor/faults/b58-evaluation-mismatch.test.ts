import { testLogCheck, times } from '../planted.test.helper.js';

testLogCheck('B58.log', [
  {
    name: 'training up, evaluation down',
    metrics: { reward: times(12, (i) => i + (i % 2)), eval_reward: times(12, (i) => -i + (i % 3)) },
    verdict: 'warn',
  },
  {
    name: 'a noisy evaluation',
    metrics: { reward: times(6, (i) => i + (i % 2)), eval_reward: [0.5, 0.46, 0.52, 0.47, 0.45, 0.48] },
    verdict: 'pass',
  },
]);

testLogCheck('B58.still', [
  {
    name: 'evaluations of the first weights',
    metrics: { reward: times(12, (i) => i + (i % 2)), eval_reward: times(12, 0.4375) },
    verdict: 'warn',
    measured: { evaluations: 12, value: 0.4375 },
  },
  {
    name: 'evaluations that differ once',
    metrics: {
      reward: times(12, (i) => i + (i % 2)),
      eval_reward: times(12, (i) => (i < 11 ? 0.4375 : 0.5)),
    },
    verdict: 'pass',
  },
  {
    name: 'a policy that stands still',
    metrics: { reward: times(12, (i) => i % 3), eval_reward: times(12, 0.4375) },
    verdict: 'pass',
  },
  {
    name: 'evaluations in which all is right',
    metrics: { reward: times(12, (i) => i + (i % 2)), eval_reward: times(12, 1) },
    verdict: 'pass',
  },
]);
