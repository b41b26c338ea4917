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
