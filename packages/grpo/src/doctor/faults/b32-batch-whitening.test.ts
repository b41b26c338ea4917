import type { StepRecord } from '../../trace/index.js';
import { groupsOf } from '../groups.js';
import { testStepCheck } from '../planted.test.helper.js';
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
