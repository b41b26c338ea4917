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

/** Two passes, each in one update of these completions. */
const passes = (first: readonly number[], second: readonly number[]) => (record: StepRecord) => {
  record.declared!.updatesPerRollout = 2;
  record.updates = [first, second].map((completions) => ({ completions: Int32Array.from(completions) }));
};
const everyone = times(24, (b) => b!);
const learning = ({ advantages, scored }: StepRecord) => {
  advantages!.fill(1);
  scored!.mask!.fill(1);
};

testStepCheck('B44.completions', [
  {
    name: 'the last micro-batch lost in both passes',
    plant: all(learning, passes(everyone.slice(0, 20), everyone.slice(0, 20))),
    verdict: 'fail',
    measured: { missed: 4 },
  },
  { name: 'lost in one', plant: all(learning, passes(everyone, everyone.slice(0, 20))), verdict: 'fail' },
  {
    name: 'without an advantage',
    plant: all(learning, passes(everyone.slice(0, 20), everyone.slice(0, 20)), ({ advantages }) => {
      advantages!.fill(0, 20);
    }),
    verdict: 'pass',
  },
  { name: 'all in both', plant: all(learning, passes(everyone, everyone)), verdict: 'pass' },
  {
    name: 'truncated and left out',
    plant: all(
      learning,
      passes(everyone.slice(0, 20), everyone.slice(0, 20)),
      ({ declared, completions }) => {
        declared!.objective = { ...declared!.objective, maskTruncated: true };
        completions!.finish!.fill('length', 20);
      },
    ),
    verdict: 'pass',
  },
  {
    name: 'updates that were not recorded',
    plant: all(learning, passes(everyone.slice(0, 20), everyone), ({ declared }) => {
      declared!.updatesPerRollout = 4;
    }),
    verdict: 'not applicable',
  },
]);
