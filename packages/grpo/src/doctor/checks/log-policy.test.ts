import { testLogCheck, times } from '../planted.test.helper.js';

const gap = 'sampling/sampling_logp_difference/mean';
const clipped = 'clip_ratio/region_mean';

testLogCheck('B55.log', [
  { name: 'grows', metrics: { [gap]: times(40, (i) => 0.005 + i / 200) }, verdict: 'warn' },
  {
    name: 'large from the start',
    metrics: { [gap]: times(40, (i) => 0.2 + (i % 3) / 100) },
    verdict: 'pass',
  },
]);
testLogCheck('B39.log', [
  { name: 'large', metrics: { [gap]: times(4, 0.2) }, verdict: 'warn' },
  { name: 'usual between two engines', metrics: { [gap]: times(4, 0.02) }, verdict: 'pass' },
]);
testLogCheck('B49.log', [
  {
    name: 'below 0',
    metrics: { kl: [0.1, -0.2] },
    declared: { kl: 'k3' },
    verdict: 'fail',
    evidence: { step: 2 },
  },
  { name: 'rounding of bfloat16', metrics: { kl: [0, -2e-4] }, declared: { kl: 'k3' }, verdict: 'pass' },
  { name: 'k1 may be', metrics: { kl: [0.1, -0.2] }, declared: { kl: 'k1' }, verdict: 'not applicable' },
]);
testLogCheck('B49.explosion', [
  { name: 'one entry', metrics: { kl: [0.1, 0.1, 80_000] }, verdict: 'warn', evidence: { step: 3 } },
  { name: 'a KL that rises', metrics: { kl: [0, 0.05, 0.3] }, verdict: 'pass' },
  {
    name: 'a reference that follows',
    metrics: { kl: [0.02, 0.02, 5] },
    declared: { referenceEvery: 2 },
    verdict: 'pass',
  },
  {
    name: 'sums over completions',
    metrics: { kl: [0.1, 0.1, 80] },
    declared: { klLevel: 'sequence_sum' },
    verdict: 'not applicable',
  },
]);
testLogCheck('B40.log', [
  {
    name: 'never clipped in 100',
    metrics: { [clipped]: times(100, 0) },
    declared: { updatesPerRollout: 2 },
    verdict: 'warn',
  },
  {
    name: 'never clipped in 30',
    metrics: { [clipped]: times(30, 0) },
    declared: { updatesPerRollout: 2 },
    verdict: 'inform',
  },
  {
    name: 'one update a rollout',
    metrics: { [clipped]: times(100, 0) },
    declared: { updatesPerRollout: 1 },
    verdict: 'not applicable',
  },
]);
testLogCheck('B42.log', [
  {
    name: 'the harder it is pushed, the lower',
    metrics: { entropy_coef: [0.2, 0.5, 1, 2, 6], entropy: [1, 0.7, 0.4, 0.2, 0.03] },
    verdict: 'warn',
  },
  {
    name: 'it helps in the end',
    metrics: { entropy_coef: [0.2, 0.5, 1, 2, 6], entropy: [1, 0.7, 0.6, 0.8, 0.9] },
    verdict: 'pass',
  },
]);
testLogCheck('B54.entropy', [
  { name: 'collapses', metrics: { entropy: times(20, (i) => 0.5 ** i) }, verdict: 'inform' },
  { name: 'falls', metrics: { entropy: times(20, (i) => 1 - i / 30) }, verdict: 'pass' },
]);
