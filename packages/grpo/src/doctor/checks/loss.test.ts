import type { StepRecord } from '../../trace/index.js';
import { change, testStepCheck } from '../planted.test.helper.js';

const declare = (changes: NonNullable<StepRecord['declared']>) => (record: StepRecord) => {
  record.declared = { ...record.declared, ...changes };
};
const all =
  (...plants: ((record: StepRecord) => void)[]) =>
  (record: StepRecord) => {
    for (const plant of plants) plant(record);
  };
const losses =
  (first: number, second = first) =>
  (record: StepRecord) => {
    for (const [i, loss] of [first, second].entries()) record.updates![i]!.loss = loss;
  };
const gradient = (norm: number) => (record: StepRecord) => {
  record.updates![1]!.gradNorm = norm;
};

testStepCheck('B45.finite', [
  {
    name: 'a loss of NaN',
    plant: losses(0.1, Number.NaN),
    verdict: 'fail',
    evidence: { values: { update: 2 } },
  },
  { name: 'a gradient that overflowed', plant: gradient(Number.POSITIVE_INFINITY), verdict: 'fail' },
  {
    name: 'a gradient that overflowed in float16, which the scaler skips',
    plant: all(gradient(Number.POSITIVE_INFINITY), declare({ dtype: 'float16' })),
    verdict: 'inform',
  },
  {
    name: 'a loss of NaN in float16',
    plant: all(losses(Number.NaN), gradient(Number.NaN), declare({ dtype: 'float16' })),
    verdict: 'fail',
  },
]);

testStepCheck('B43.components', [
  { name: 'another loss than the parts’ sum', plant: losses(0.5), verdict: 'fail', measured: { loss: 0.5 } },
  {
    name: 'one update without its parts',
    plant: (record) => {
      delete record.updates![0]!.components;
      record.updates![1]!.loss = 0.5;
    },
    verdict: 'fail',
    evidence: { values: { update: 2 } },
  },
  {
    name: 'rounding of bfloat16',
    plant: (record) => {
      const [part] = record.updates![0]!.components!;
      part!.value *= 1.003;
      record.declared!.dtype = 'bfloat16';
    },
    verdict: 'pass',
  },
  { name: 'no number', plant: losses(Number.NaN), verdict: 'not applicable' },
]);

testStepCheck('B43.terms', [
  { name: 'a KL term without β', plant: declare({ beta: 1 }), into: { step: 5 }, verdict: 'fail' },
  { name: 'half of the loss', plant: losses(0.7), verdict: 'fail' },
  {
    name: 'a masked token without a log-prob',
    plant: (record) => {
      const [update] = record.updates!;
      const term = update!.policyTerms![3]! * update!.weights![3]!;
      update!.policyTerms![3] = Number.NaN;
      update!.weights![3] = 0;
      update!.loss! -= term;
    },
    verdict: 'pass',
  },
  {
    name: 'β is not known',
    plant: ({ declared }) => {
      delete declared!.beta;
    },
    verdict: 'not applicable',
  },
  { name: 'a loss with an entropy bonus', into: { bonus: true }, plant: () => {}, verdict: 'pass' },
  {
    name: 'a bonus with the sign of a penalty',
    into: { bonus: true },
    plant: ({ updates }) => {
      for (const update of updates!) update.loss! += 2 * 0.01 * update.components!.at(-1)!.value;
    },
    verdict: 'fail',
  },
]);

const executed = (count: number) => (record: StepRecord) => {
  record.updates![0]!.microBatches = { executed: count, configured: 4 };
};

testStepCheck('B44.micro-steps', [
  {
    name: 'one dropped, and the divisor stays',
    plant: all(executed(3), (record) => change(record, 'weights', (value) => value * 0.75)),
    verdict: 'fail',
    evidence: { values: { executed: 3, configured: 4 } },
  },
  { name: 'one dropped, and the divisor follows', plant: executed(3), verdict: 'pass' },
]);

const accumulation = (cosine: number, normRatio: number) => (record: StepRecord) => {
  record.probes!.accumulation = { cosine, normRatio };
};

testStepCheck('B41.split', [
  { name: 'the mean of means', plant: accumulation(0.99, 1.01), verdict: 'fail' },
  { name: 'divided twice', plant: accumulation(1, 0.25), verdict: 'fail' },
  {
    name: 'bfloat16',
    plant: all(accumulation(0.9995, 1.01), declare({ dtype: 'bfloat16' })),
    verdict: 'pass',
  },
  {
    name: 'bnpo is defined by the split',
    plant: all(accumulation(0.9, 1.2), declare({ loss: 'bnpo' })),
    verdict: 'not applicable',
  },
]);
