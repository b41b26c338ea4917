import { testLogCheck } from '../planted.test.helper.js';

const flat = 'frac_reward_zero_std';

const cut = 'completions/clipped_ratio';

testLogCheck('B59.monitors', [
  {
    name: '16.7 % and 50 %',
    metrics: { [flat]: [0.2, 0.167], [`${flat}/counted_again`]: [0.2, 0.5] },
    verdict: 'warn',
    evidence: { step: 2 },
  },
  { name: 'one number', metrics: { [flat]: [0.2], [`${flat}/counted_again`]: [0.2] }, verdict: 'pass' },
]);

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
