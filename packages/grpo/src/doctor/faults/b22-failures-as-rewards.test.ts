import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { onRows } from '../plants.test.helper.js';

testStepCheck('B22.canary', [
  {
    name: 'a right answer that could not be graded',
    plant: onRows('gold', 0, { value: null }),
    verdict: 'warn',
    evidence: { values: { value: 'none' } },
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

testStepCheck('B22.failures', [
  {
    name: 'one completion of 24',
    plant: ({ rewards }) => {
      rewards!.failures = [{ reward: 'right', completion: 5, reason: 'time-out' }];
    },
    verdict: 'inform',
    evidence: { completion: 5, text: 'time-out', values: { reward: 'right' } },
  },
  {
    name: 'a function that failed as a whole',
    plant: ({ rewards }) => {
      rewards!.failures = [{ reward: 'right', completion: null, reason: 'no answer' }];
    },
    verdict: 'warn',
  },
]);

testStepCheck('B22.fallback', [
  {
    name: 'half of the values',
    plant: ({ rewards }) => {
      rewards!.fallbacks = [-0.5];
      rewards!.values!.fill(-0.5, 0, 12);
    },
    verdict: 'warn',
    evidence: { text: 'right', values: { value: -0.5 } },
  },
  {
    name: 'a fallback of 0 beside honest zeros',
    plant: ({ rewards }) => {
      rewards!.fallbacks = [0];
      rewards!.values!.fill(0, 0, 12);
    },
    verdict: 'inform',
  },
]);

testStepCheck('B22.unstable', [
  {
    name: 'a judge that times out',
    plant({ probes }) {
      probes!.unstable = ['judge'];
    },
    verdict: 'inform',
    measured: { names: 'judge' },
  },
  { name: 'none', plant: () => {}, verdict: 'pass' },
]);
