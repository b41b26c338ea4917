import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { startOf, testStepCheck } from '../planted.test.helper.js';

const facts = (changes: UpdateRecord) => (record: StepRecord) => {
  record.updates![0] = { ...record.updates![0], ...changes };
};
const declare = (changes: NonNullable<StepRecord['declared']>) => (record: StepRecord) => {
  record.declared = { ...record.declared, ...changes };
};
const all =
  (...plants: ((record: StepRecord) => void)[]) =>
  (record: StepRecord) => {
    for (const plant of plants) plant(record);
  };

testStepCheck('B53.gradient', [
  { name: 'no gradient', plant: facts({ gradNorm: 0 }), verdict: 'fail', measured: { masked: true } },
  {
    name: 'no gradient, and nothing to learn',
    plant: all(facts({ gradNorm: 0 }), ({ advantages }) => void advantages!.fill(0)),
    verdict: 'not applicable',
  },
  {
    name: 'no gradient, and what rounding left of equal rewards',
    plant: all(facts({ gradNorm: 0 }), ({ advantages }) => void advantages!.fill(-5e-3)),
    verdict: 'not applicable',
  },
  {
    name: 'no gradient, and all that could teach is masked',
    plant: all(facts({ gradNorm: 0 }), (record) => void record.scored!.mask!.fill(0, startOf(record, 8))),
    verdict: 'not applicable',
  },
  {
    name: 'no gradient, and the mask is not known',
    plant: all(facts({ gradNorm: 0 }), ({ scored }) => void delete scored!.mask),
    verdict: 'fail',
    measured: { masked: false },
  },
  { name: 'a loss of 0 with a gradient', plant: facts({ loss: 0 }), verdict: 'pass' },
]);

testStepCheck('B52.weights', [
  { name: 'no element changes', plant: facts({ changedShare: 0 }), verdict: 'fail' },
  {
    name: 'the end of a schedule',
    plant: facts({ changedShare: 0, learningRate: 1e-12 }),
    verdict: 'not applicable',
  },
  {
    name: 'a gradient that overflowed, and was skipped',
    plant: facts({ changedShare: 0, gradNorm: Number.POSITIVE_INFINITY }),
    verdict: 'not applicable',
  },
  { name: 'a warm-up from 0', plant: facts({ changedShare: 0, learningRate: 0 }), verdict: 'not applicable' },
]);

testStepCheck('B52.lost', [
  {
    name: 'bfloat16 without masters',
    plant: all(facts({ changedShare: 0.006, changedWeightShare: 0.006 }), declare({ dtype: 'bfloat16' })),
    verdict: 'warn',
  },
  {
    name: 'bfloat16 weights that follow float32 masters slowly',
    plant: all(
      facts({ changedShare: 0.9, changedWeightShare: 0.006 }),
      declare({ dtype: 'bfloat16', masterWeights: true }),
    ),
    verdict: 'pass',
  },
  { name: 'a warm-up from 0', plant: facts({ changedShare: 0, learningRate: 0 }), verdict: 'not applicable' },
]);

testStepCheck('B53.zero', [
  { name: 'half of the tensors', into: { step: 5 }, plant: facts({ zeroGradients: 0.5 }), verdict: 'warn' },
  { name: 'half of them on step 1: an adapter', plant: facts({ zeroGradients: 0.5 }), verdict: 'inform' },
  { name: 'nearly all on step 1', plant: facts({ zeroGradients: 0.9 }), verdict: 'warn' },
]);

testStepCheck('B60.stage', [
  {
    name: 'a judge that takes 9 of 10 seconds',
    plant: ({ stages }) => {
      stages!.push({ name: 'judge', seconds: 9 });
    },
    verdict: 'inform',
    measured: { stage: 'judge' },
  },
  {
    name: 'a step of milliseconds',
    plant: (record) => {
      record.stages = [
        { name: 'sample', seconds: 0.09 },
        { name: 'update', seconds: 0.01 },
      ];
    },
    verdict: 'pass',
  },
]);
