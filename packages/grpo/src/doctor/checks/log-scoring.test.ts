import { testLogCheck, times } from '../planted.test.helper.js';

const reference = 'sequence_logprob_reference';

testLogCheck('B14.log', [
  {
    name: 'one total for different texts',
    metrics: { [reference]: [-1072], [`${reference}/equal`]: [4], [`${reference}/spread`]: [0.01] },
    verdict: 'warn',
    measured: { equal: 4 },
  },
  {
    name: 'certain texts',
    metrics: { [reference]: [-0.2], [`${reference}/equal`]: [4], [`${reference}/spread`]: [0.01] },
    verdict: 'pass',
  },
]);
testLogCheck('B38.likelihood', [
  {
    name: 'less likely than under the reference',
    metrics: { sequence_logprob: [-440], [reference]: [-45] },
    verdict: 'warn',
    evidence: { step: 1 },
  },
  { name: 'alike', metrics: { sequence_logprob: [-47], [reference]: [-45] }, verdict: 'pass' },
]);
testLogCheck('B38.log', [
  { name: 'negative throughout', metrics: { kl: times(10, (i) => -4 - (i % 3)) }, verdict: 'warn' },
  { name: 'k1 around 0', metrics: { kl: times(10, (i) => 0.02 * ((i % 3) - 1)) }, verdict: 'pass' },
]);
testLogCheck('B38.constant', [
  { name: 'large, and does not move', metrics: { kl: times(10, 11) }, firstStep: 10, verdict: 'warn' },
  { name: 'large, and moves', metrics: { kl: times(10, (i) => 1.5 + i) }, firstStep: 10, verdict: 'pass' },
  { name: 'step 1 is there', metrics: { kl: times(10, 11) }, verdict: 'not applicable' },
]);
testLogCheck('B51.log', [
  { name: 'not 0 at once', metrics: { kl: [1.007, 1] }, verdict: 'fail', evidence: { step: 1 } },
  {
    name: 'sums over completions',
    metrics: { kl: [0.3, 1] },
    declared: { klLevel: 'sequence_sum' },
    verdict: 'not applicable',
  },
  {
    name: '|d| of bfloat16',
    metrics: { kl: [0.02, 1] },
    declared: { kl: 'abs', dtype: 'bfloat16' },
    verdict: 'pass',
  },
  {
    name: 'a loss of one’s own',
    metrics: { kl: [1.007, 1] },
    declared: { ownStages: ['objective'] },
    verdict: 'not applicable',
  },
  { name: 'noise of bfloat16', metrics: { kl: [0.0005, 0.01] }, verdict: 'pass' },
  {
    name: 'averaged over ten steps',
    metrics: { kl: [1.007, 1] },
    series: { stepsPerEntry: 10 },
    verdict: 'not applicable',
  },
  { name: 'a log that begins later', metrics: { kl: [1.007, 1] }, firstStep: 5, verdict: 'not applicable' },
]);
