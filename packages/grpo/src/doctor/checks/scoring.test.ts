import type { StepRecord } from '../../trace/index.js';
import { change, startOf, testStepCheck } from '../planted.test.helper.js';

/** How far policy and sampler are off at the declared temperature, at 0.7, and by the logits after a token. */
const off =
  (side: 'policy' | 'sampler', ...means: [own: number, other: number, shifted: number]) =>
  ({ probes }: StepRecord) => {
    for (const [i, mean] of means.entries()) probes!.plainScoring![i]![side].mean = mean;
  };

testStepCheck('B18.temperature', [
  { name: 'drawn at another', plant: off('sampler', 0.3, 1e-6, 3), verdict: 'fail', measured: { fits: 0.7 } },
  { name: 'fits none', plant: off('sampler', 0.3, 0.2, 3), verdict: 'not applicable' },
]);
testStepCheck('B19.scoring', [
  { name: 'scored at another', plant: off('policy', 0.3, 1e-6, 3), verdict: 'fail', measured: { fits: 0.7 } },
  { name: 'fits none', plant: off('policy', 0.3, 0.2, 3), verdict: 'not applicable' },
]);
testStepCheck('B35.plain', [
  {
    name: 'the logits after a token',
    plant: off('policy', 3, 3, 1e-6),
    verdict: 'fail',
    measured: { shift: 1 },
  },
  { name: 'fits neither', plant: off('policy', 3, 3, 2), verdict: 'not applicable' },
]);
testStepCheck('B37.broadcast', [
  {
    name: 'one position for all',
    plant: (record) => {
      const { lengths } = record.scored!;
      const policy = record.updates![0]!.policyLogprobs!;
      for (const [b, length] of lengths!.entries())
        policy.fill(-1 - b / 10, startOf(record, b), startOf(record, b) + length);
    },
    verdict: 'fail',
  },
  {
    name: 'certain tokens',
    plant: (record) => change(record, 'policyLogprobs', () => -1e-4),
    verdict: 'not applicable',
  },
]);
