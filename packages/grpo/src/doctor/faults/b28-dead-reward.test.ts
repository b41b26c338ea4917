import { testLogCheck, times } from '../planted.test.helper.js';

testLogCheck('B28.log', [
  {
    name: 'a format that never pays',
    metrics: {
      reward: times(25, (i) => i / 25),
      'rewards/strict/mean': times(25, 0),
      'rewards/strict/std': times(25, 0),
    },
    verdict: 'inform',
    measured: { names: 'strict' },
  },
  {
    name: 'two that never pay where nothing is learnt, in five entries of five steps',
    metrics: {
      reward: [0.1, 0.2, 0.1, 0.2, 0.1],
      'rewards/answer/mean': [0.1, 0.2, 0.1, 0.2, 0.1],
      'rewards/strict/mean': times(5, 0),
      'rewards/soft/mean': times(5, 0),
    },
    series: { stepsPerEntry: 5 },
    verdict: 'warn',
    measured: { names: 'strict, soft', steps: 25 },
  },
  {
    name: 'one that pays once',
    metrics: { reward: times(25, 0.1), 'rewards/strict/mean': times(25, (i) => (i === 24 ? 0.1 : 0)) },
    verdict: 'pass',
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
