import { testLogCheck, times } from '../planted.test.helper.js';

testLogCheck('B28.log', [
  {
    name: 'a format that never pays',
    metrics: {
      reward: times(25, (i) => i / 25),
      'rewards/strict/mean': times(25, 0),
      'rewards/strict/std': times(25, 0),
    },
    verdict: 'warn',
    measured: { name: 'strict' },
  },
  {
    name: 'a reward that all earn',
    metrics: { reward: times(25, 1), 'rewards/form/mean': times(25, 1) },
    verdict: 'pass',
  },
  {
    name: 'a penalty that nobody pays',
    metrics: { reward: times(25, 1), 'rewards/overlong_penalty/mean': times(25, 0) },
    verdict: 'pass',
  },
  {
    name: 'a penalty that all pay',
    metrics: { reward: times(25, 1), 'rewards/overlong_penalty/mean': times(25, -1) },
    verdict: 'warn',
  },
]);
