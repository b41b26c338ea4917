import { testLogCheck, times } from '../planted.test.helper.js';

const flat = 'frac_reward_zero_std';

testLogCheck('B59.monitors', [
  {
    name: '16.7 % and 50 %',
    metrics: { [flat]: [0.2, 0.167], [`${flat}/counted_again`]: [0.2, 0.5] },
    verdict: 'warn',
    evidence: { step: 2 },
  },
  { name: 'one number', metrics: { [flat]: [0.2], [`${flat}/counted_again`]: [0.2] }, verdict: 'pass' },
]);
testLogCheck('B09.log', [
  { name: 'a third', metrics: { 'completions/clipped_ratio': times(5, 0.33) }, verdict: 'inform' },
  { name: 'few', metrics: { 'completions/clipped_ratio': times(5, 0.05) }, verdict: 'pass' },
]);
