import { testLogCheck, times } from '../planted.test.helper.js';

testLogCheck('B24.signal', [
  {
    name: 'a signal of 0.8 and 0.2',
    metrics: { 'signal/bbq': times(5, 0.8), 'signal/halueval': times(5, 0.2) },
    verdict: 'warn',
    measured: { weak: 'halueval', strong: 'bbq' },
  },
  { name: 'none in one', metrics: { 'signal/a': times(5, 0.8), 'signal/b': times(5, 0) }, verdict: 'warn' },
  { name: 'alike', metrics: { 'signal/a': times(5, 0.8), 'signal/b': times(5, 0.3) }, verdict: 'pass' },
  { name: 'one kind', metrics: { 'signal/a': times(5, 0.8) }, verdict: 'not applicable' },
]);

const gap = Number.NaN;
testLogCheck('B54.conflict', [
  {
    name: 'three measurements',
    metrics: { grad_cosine: [0.2, gap, -0.2, gap, -0.3, gap, -0.11, gap, 0.5] },
    verdict: 'warn',
    evidence: { step: 3 },
  },
  { name: 'now and then', metrics: { grad_cosine: [-0.2, -0.3, 0.1, -0.2, -0.05, -0.3] }, verdict: 'pass' },
]);

testLogCheck('B30.expected', [
  {
    name: 'half and a fifth',
    metrics: { frac_reward_zero_std: times(5, 0.5), frac_reward_zero_std_expected: times(5, 0.2) },
    verdict: 'inform',
  },
  {
    name: 'as expected',
    metrics: { frac_reward_zero_std: times(5, 0.24), frac_reward_zero_std_expected: times(5, 0.2) },
    verdict: 'pass',
  },
  {
    name: 'few of fewer',
    metrics: { frac_reward_zero_std: times(5, 0.06), frac_reward_zero_std_expected: times(5, 0.02) },
    verdict: 'pass',
  },
]);
