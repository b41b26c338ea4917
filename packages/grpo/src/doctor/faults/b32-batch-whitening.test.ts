import type { StepRecord } from '../../trace/index.js';
import { groupsOf } from '../groups.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare, deviation, mean, undeclared } from '../plants.test.helper.js';

const whitened = ({ rewards, advantages, completions }: StepRecord) => {
  const centred = groupsOf(completions!.prompt!).flatMap((group) => {
    const own = group.map((b) => rewards!.totals![b]!);
    return own.map((r) => r - mean(own));
  });
  advantages!.set(centred.map((value) => value / (deviation(centred) + 1e-8)));
};

testStepCheck('B32.whitening', [
  { name: 'centred by group, scaled by the batch', plant: whitened, verdict: 'fail' },
  { name: 'the same, and no scale is declared', plant: all(whitened, undeclared), verdict: 'inform' },
  {
    name: 'the same, as declared',
    plant: all(whitened, declare({ advantage: { scale: 'batch' } })),
    verdict: 'pass',
  },
]);

const spread = (deviation: number) => ({
  'advantages/std': times(20, deviation),
  frac_reward_zero_std: times(20, (i) => (i % 5) / 10),
});

testLogCheck('B32.log', [
  { name: 'the deviation 1 throughout, of unknown settings', metrics: spread(1), verdict: 'inform' },
  {
    name: 'the deviation 1 throughout, where groups are declared',
    metrics: spread(1.002),
    declared: { advantage: { scale: 'group' } },
    verdict: 'fail',
  },
  {
    name: 'the deviation 1 as declared',
    metrics: spread(1),
    declared: { advantage: { scale: 'batch' } },
    verdict: 'pass',
  },
  { name: 'another deviation', metrics: spread(0.93), verdict: 'pass' },
]);
