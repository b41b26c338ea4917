import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';

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

testStepCheck('B24.provider', [
  {
    name: 'two judges in a group',
    plant: ({ rewards }) => {
      rewards!.providers![9] = 'other';
    },
    verdict: 'warn',
    evidence: { prompt: 2, text: 'judge, other' },
  },
  {
    name: 'two judges, each for groups of its own',
    plant: ({ rewards }) => {
      rewards!.providers!.fill('other', 8, 12);
    },
    verdict: 'pass',
  },
]);
