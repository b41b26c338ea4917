import type { StepRecord } from '../../trace/index.js';
import { change, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all } from '../plants.test.helper.js';

const executed = (count: number) => (record: StepRecord) => {
  record.updates![0]!.microBatches = { executed: count, configured: 4 };
};

testLogCheck('B44.log', [
  {
    name: 'two skipped',
    metrics: { micro_steps: [16, 16], 'micro_steps/executed': [16, 14] },
    verdict: 'fail',
    evidence: { step: 2 },
    measured: { executed: 14, divisor: 16 },
  },
  {
    name: 'two skipped, and the divisor follows',
    metrics: { micro_steps: [16], 'micro_steps/executed': [14], loss_divisor: [14] },
    verdict: 'pass',
  },
]);

testStepCheck('B44.micro-steps', [
  {
    name: 'one dropped, and the divisor stays',
    plant: all(executed(3), (record) => change(record, 'weights', (value) => value * 0.75)),
    verdict: 'fail',
    evidence: { values: { executed: 3, configured: 4 } },
  },
  { name: 'one dropped, and the divisor follows', plant: executed(3), verdict: 'pass' },
]);

const skips = (count: number) => ({ skips: { count, text: 'Gradient norm 3776, skipping update', line: 7 } });

testLogCheck('B44.told', [
  {
    name: 'a line for most entries',
    metrics: { loss: times(4, 0) },
    series: skips(3),
    verdict: 'warn',
    measured: { skipped: 3, entries: 4 },
  },
  { name: 'a line for few of them', metrics: { loss: times(4, 0) }, series: skips(1), verdict: 'inform' },
  { name: 'a flag in each', metrics: { skipped: [1, 1, 1] }, verdict: 'warn', measured: { skipped: 3 } },
  { name: 'a flag that never is', metrics: { skipped: [0, 0, 0] }, verdict: 'pass' },
]);
