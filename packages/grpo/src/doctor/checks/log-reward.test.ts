import { testLogCheck, times } from '../planted.test.helper.js';

const parts = { 'rewards/right/mean': times(5, 0.5), 'rewards/form/mean': times(5, 0.8) };

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

testLogCheck('B06.log', [
  {
    name: 'a format that is never fulfilled',
    metrics: { 'rewards/format/mean': times(20, 0), 'completions/clipped_ratio': times(20, 0.1) },
    verdict: 'warn',
  },
  {
    name: 'nothing ends',
    metrics: { 'rewards/format/mean': times(20, 0), 'completions/clipped_ratio': times(20, 1) },
    verdict: 'pass',
  },
]);

testLogCheck('B22.log', [
  { name: 'every entry', metrics: { reward_failures: times(10, 2) }, verdict: 'warn' },
  {
    name: 'one in a hundred',
    metrics: { reward_failures: times(100, (i) => (i === 7 ? 1 : 0)) },
    verdict: 'inform',
    evidence: { step: 8 },
  },
]);

testLogCheck('B17.log', [
  {
    name: 'in most entries',
    metrics: { identical_groups: [1, 2, undefined, 1] },
    verdict: 'inform',
    measured: { alike: 3 },
  },
  { name: 'once', metrics: { identical_groups: [1, 0, 0, 0] }, verdict: 'pass' },
]);
testLogCheck('B21.log', [
  {
    name: 'weights that were not used',
    metrics: { ...parts, reward: times(5, 1.3) },
    declared: { rewardWeights: [1, 0.2] },
    verdict: 'warn',
    evidence: { values: { reward: 1.3 } },
  },
  {
    name: 'the weighted sum',
    metrics: { ...parts, reward: times(5, 0.66) },
    declared: { rewardWeights: [1, 0.2] },
    verdict: 'pass',
  },
  {
    name: 'a version that logs it without weights',
    metrics: { ...parts, reward: times(5, 1.3) },
    declared: { rewardWeights: [1, 0.2] },
    series: { rewardIsWeighted: false },
    verdict: 'not applicable',
  },
  { name: 'weights not known', metrics: { ...parts, reward: times(5, 1.3) }, verdict: 'not applicable' },
]);
testLogCheck('B29.log', [
  { name: 'NaN', metrics: { reward: [0.1, Number.NaN] }, verdict: 'fail', evidence: { step: 2 } },
  {
    name: 'a function that had nothing to say',
    metrics: { reward: [0.1, 0.2], 'rewards/x/mean': [Number.NaN, 1] },
    verdict: 'pass',
  },
]);
