import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare, facts } from '../plants.test.helper.js';

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

testStepCheck('B52.half', [
  { name: 'float16 alone', plant: declare({ dtype: 'float16', masterWeights: false }), verdict: 'warn' },
  {
    name: 'float16 with masters',
    plant: declare({ dtype: 'float16', masterWeights: true }),
    verdict: 'pass',
  },
  { name: 'bfloat16 alone', plant: declare({ dtype: 'bfloat16', masterWeights: false }), verdict: 'pass' },
]);
