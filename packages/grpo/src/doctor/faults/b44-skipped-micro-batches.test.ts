import type { StepRecord } from '../../trace/index.js';
import { change, testLogCheck, testStepCheck } from '../planted.test.helper.js';
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
