import { testLogCheck, times } from '../planted.test.helper.js';

const cut = 'completions/clipped_ratio';

testLogCheck('B16.log', [
  {
    name: 'all cut off from the start',
    metrics: { [cut]: times(6, 1) },
    verdict: 'warn',
    measured: { fromStart: true },
  },
  {
    name: 'cut off until it has learnt to end',
    metrics: { [cut]: [...times(10, 1), ...times(20, 0.1)] },
    verdict: 'inform',
    measured: { recovered: true },
  },
  {
    name: 'cut off in the end: it grew',
    metrics: { [cut]: times(40, (i) => Math.min(1, i / 30)) },
    verdict: 'inform',
    measured: { fromStart: false },
  },
]);

testLogCheck('B08.log', [
  { name: 'more and more', metrics: { [cut]: times(40, (i) => Math.min(1, i / 30)) }, verdict: 'warn' },
  { name: 'all from the start', metrics: { [cut]: times(40, 1) }, verdict: 'pass' },
]);
