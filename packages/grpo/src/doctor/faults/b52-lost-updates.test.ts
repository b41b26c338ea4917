import { describe, expect, it } from 'vitest';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare, facts, judgeRun, recordsOf } from '../plants.test.helper.js';

testLogCheck('B52.log', [
  {
    name: 'evaluations that never move',
    metrics: {
      reward: times(60, (i) => i % 7),
      eval_reward: times(60, (i) => (i % 10 ? undefined : 0.1875)),
      learning_rate: times(60, 1e-7),
    },
    verdict: 'warn',
    measured: { value: 0.1875 },
  },
  {
    name: 'evaluations that never move, of a policy that does',
    metrics: {
      reward: times(60, (i) => i + (i % 7)),
      eval_reward: times(60, (i) => (i % 10 ? undefined : 0.1875)),
      learning_rate: times(60, 1e-7),
    },
    verdict: 'pass',
  },
  {
    name: 'evaluations after the end of the schedule',
    metrics: {
      reward: times(60, (i) => i % 7),
      eval_reward: times(60, (i) => (i % 10 ? undefined : 0.1875)),
      learning_rate: times(60, (i) => (i === 0 ? 1e-7 : 0)),
    },
    verdict: 'pass',
  },
  {
    name: 'evaluations that are all right',
    metrics: { reward: times(60, (i) => i % 7), eval_reward: times(60, (i) => (i % 10 ? undefined : 1)) },
    verdict: 'pass',
  },
  {
    name: 'a learning rate of 0: another fault',
    metrics: { reward: times(60, 1), eval_reward: times(60, 0.3), learning_rate: times(60, 0) },
    verdict: 'not applicable',
  },
]);

testStepCheck('B52.weights', [
  { name: 'no element changes', plant: facts({ changedShare: 0 }), verdict: 'fail', measured: { left: 0 } },
  {
    name: 'none that the optimizer does not hold',
    plant: all(facts({ changedShare: 0 }), ({ probes }) => {
      probes!.leftOut = ['a.lora_A', 'a.lora_B'];
    }),
    verdict: 'fail',
    measured: { left: 2, name: 'a.lora_A' },
  },
  {
    name: 'one whose gradients were gone when it came',
    plant: all(facts({ changedShare: 0, zeroGradients: undefined }), (record) => {
      record.producer = { name: 'trl' };
    }),
    verdict: 'fail',
    measured: { isCleared: true },
  },
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
    name: 'none changes, which is no rounding',
    plant: facts({ changedShare: 0 }),
    verdict: 'not applicable',
  },
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

testStepCheck('B52.small', [
  {
    name: 'moves of a thousandth of the rate',
    plant: facts({ moved: 1e-7, size: 0.05, learningRate: 1e-4 }),
    verdict: 'warn',
    measured: { moved: 1e-7, rate: 1e-4, size: 0.05 },
  },
  {
    name: 'moves of a third of a small rate',
    plant: facts({ moved: 3e-7, size: 0.05, learningRate: 1e-6 }),
    verdict: 'pass',
  },
  {
    name: 'moves of SGD at a large rate',
    plant: facts({ moved: 1e-5, size: 0.05, learningRate: 0.5 }),
    verdict: 'pass',
  },
  {
    name: 'none, which is another fault',
    plant: facts({ moved: undefined }),
    verdict: 'not applicable',
  },
]);

describe('B52.rate', () => {
  const rates = (...all: number[]) =>
    judgeRun(
      'B52.rate',
      recordsOf(
        [...all.keys()].map((i) => i + 1),
        (record, step) => {
          record.updates![0]!.learningRate = all[step - 1]!;
          record.declared = {
            ...record.declared,
            optimizer: { ...record.declared!.optimizer, learningRate: 5e-4 },
          };
        },
      ),
    );
  it('tells rates that are the declared one times itself', () => {
    expect(rates(2.5e-7, 2.4e-7, 2.3e-7)).toMatchObject({
      severity: 'warn',
      measured: { most: 2.5e-7, declared: 5e-4, isProduct: true },
    });
  });
  it('tells a rate above the declared one, with its step', () => {
    expect(rates(5e-4, 5e-3)).toMatchObject({ severity: 'warn', measured: { most: 5e-3, step: 2 } });
  });
  it('leaves a fall from the declared rate, and a warm-up, alone', () => {
    expect(rates(5e-4, 1e-6, 1e-7)).toMatchObject({ verdict: 'pass' });
    expect(rates(1e-8, 2e-8, 3e-8)).toMatchObject({ verdict: 'not applicable' });
  });
});

testStepCheck('B52.half', [
  { name: 'float16 alone', plant: declare({ dtype: 'float16', masterWeights: false }), verdict: 'warn' },
  {
    name: 'float16 with masters',
    plant: declare({ dtype: 'float16', masterWeights: true }),
    verdict: 'pass',
  },
  { name: 'bfloat16 alone', plant: declare({ dtype: 'bfloat16', masterWeights: false }), verdict: 'pass' },
]);
