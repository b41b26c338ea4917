import type { StepRecord } from '../../trace/index.js';
import { change, startOf, testStepCheck } from '../planted.test.helper.js';

/** Every completion's log-probs moved by one token within it. */
const shifted = (by: 1 | -1) => (record: StepRecord) => {
  const { lengths } = record.scored!;
  const policy = record.updates![0]!.policyLogprobs!;
  const moved = policy.slice();
  for (const [b, length] of lengths!.entries()) {
    const start = startOf(record, b);
    for (let t = 0; t < length; t++) moved[start + t] = policy[start + ((t + by + length) % length)]!;
  }
  record.updates![0]!.policyLogprobs = moved;
};
/** Log-probs with more to tell them apart. */
const spread = (record: StepRecord) => {
  const wide = record.completions!.samplerLogprobs!.map((value, i) => value * 3 - ((i * 7919) % 13) / 4);
  record.completions!.samplerLogprobs = wide;
  record.updates![0]!.policyLogprobs = wide.slice();
};
const all =
  (...plants: ((record: StepRecord) => void)[]) =>
  (record: StepRecord) => {
    for (const plant of plants) plant(record);
  };
const off = (by: number) => (record: StepRecord) =>
  change(record, 'policyLogprobs', (value, i) => value + (i % 2 ? by : -by));
/** Of completions that were masked as a whole, and then scored without attention. */
const maskedGarbage = (record: StepRecord) => {
  const start = startOf(record, 20);
  record.scored!.mask!.fill(0, start);
  record.updates![0]!.policyLogprobs!.fill(-30, start);
};
const half = ({ declared }: StepRecord) => {
  declared!.dtype = 'bfloat16';
};

testStepCheck('B35.shift', [
  { name: 'the logits after a token', plant: all(spread, shifted(1)), verdict: 'fail', measured: { by: -1 } },
  { name: 'the logits two before', plant: all(spread, shifted(-1)), verdict: 'fail', measured: { by: 1 } },
  { name: 'far off, and not by a shift', plant: all(spread, off(2)), verdict: 'pass' },
  { name: 'masked completions', plant: maskedGarbage, verdict: 'pass' },
]);

testStepCheck('B36.rows', [
  {
    name: 'all tokens read from one row',
    plant: (record) => change(record, 'policyLogprobs', (_, i) => -record.scored!.ids![i]! / 10 - 1),
    verdict: 'fail',
  },
  {
    name: 'masked completions read so',
    plant: all(
      (record) => change(record, 'policyLogprobs', (_, i) => -record.scored!.ids![i]! / 10 - 1),
      ({ scored }) => void scored!.mask!.fill(0),
    ),
    verdict: 'not applicable',
  },
]);

testStepCheck('B38.repeat', [
  {
    name: 'dropout',
    plant: ({ probes }) => {
      probes!.repeatedScoring!.max = 0.3;
    },
    verdict: 'fail',
  },
  {
    name: 'NaN',
    plant: ({ probes }) => {
      probes!.repeatedScoring!.max = Number.NaN;
    },
    verdict: 'fail',
  },
  {
    name: 'a sum in another order',
    plant: ({ probes }) => {
      probes!.repeatedScoring!.max = 2e-5;
    },
    verdict: 'pass',
  },
  {
    name: 'no token',
    plant: ({ probes }) => {
      probes!.repeatedScoring!.tokens = 0;
    },
    verdict: 'not applicable',
  },
]);

testStepCheck('B38.dropout', [
  {
    name: 'a module that drops',
    plant: ({ declared }) => void declared!.activeDropout!.push('layer.0.drop'),
    verdict: 'warn',
    measured: { first: 'layer.0.drop' },
  },
]);

testStepCheck('B13.alone', [
  {
    name: 'positions moved by padding',
    plant: ({ probes }) => {
      probes!.aloneInBatch!.max = 5;
    },
    verdict: 'fail',
  },
  {
    name: 'kernels of bfloat16',
    plant: all(({ probes }) => {
      probes!.aloneInBatch!.max = 0.1;
    }, half),
    verdict: 'pass',
  },
]);

testStepCheck('B38.policy', [
  { name: 'the policy alone is off', plant: off(0.5), verdict: 'fail' },
  {
    name: 'reference and policy are off alike: not the mode',
    plant: all(off(0.5), ({ scored, updates }) => {
      scored!.referenceLogprobs = updates![0]!.policyLogprobs!.slice();
    }),
    verdict: 'not applicable',
  },
  { name: 'a later step', into: { step: 5 }, plant: off(0.5), verdict: 'not applicable' },
  { name: 'masked completions', plant: maskedGarbage, verdict: 'pass' },
]);

testStepCheck('B39.gap', [
  { name: 'in float32', plant: off(1e-3), verdict: 'warn' },
  { name: 'in bfloat16', plant: all(off(1e-3), half), verdict: 'pass' },
  { name: 'in bfloat16, far', plant: all(off(0.1), half), verdict: 'warn' },
  {
    name: 'one token',
    plant: (record) =>
      change(record, 'policyLogprobs', (value, i) => (i === startOf(record, 12) + 4 ? value - 0.03 : value)),
    verdict: 'warn',
    evidence: { completion: 12, token: 4 },
  },
  {
    name: 'NaN',
    plant: (record) =>
      change(record, 'policyLogprobs', (value, i) => (i === startOf(record, 12) + 4 ? Number.NaN : value)),
    verdict: 'warn',
    evidence: { completion: 12, token: 4 },
  },
  { name: 'masked completions', plant: maskedGarbage, verdict: 'pass' },
  {
    name: 'a group that an earlier policy sampled',
    plant: (record) => {
      record.prompts!.replayed = Int32Array.of(0, 0, 0, 1, 0, 0);
      const [start, end] = [startOf(record, 12), startOf(record, 16)];
      change(record, 'policyLogprobs', (value, i) => (i >= start && i < end ? value - 0.3 : value));
    },
    verdict: 'pass',
  },
]);

const stuck = (record: StepRecord) => {
  record.updates![1]!.ratios!.fill(1);
};

testStepCheck('B40.ratio', [
  { name: 'exactly 1 in the second update', plant: stuck, verdict: 'fail', measured: { updates: 2 } },
  {
    name: 'exactly 1, from the log-probs',
    plant: ({ updates, scored }) => {
      delete updates![1]!.ratios;
      updates![1]!.policyLogprobs = scored!.oldLogprobs!.slice();
    },
    verdict: 'fail',
  },
  { name: 'one update', plant: all(stuck, ({ updates }) => void updates!.pop()), verdict: 'not applicable' },
  {
    name: 'a warm-up from a learning rate of 0',
    plant: all(stuck, ({ updates }) => {
      updates![0]!.learningRate = 0;
    }),
    verdict: 'not applicable',
  },
  {
    name: 'bfloat16 weights that were rounded back',
    plant: all(stuck, half, ({ updates }) => {
      updates![0]!.changedWeightShare = 0;
    }),
    verdict: 'not applicable',
  },
  {
    name: 'bfloat16 weights whose float32 masters moved',
    plant: all(stuck, half, ({ declared }) => {
      declared!.masterWeights = true;
    }),
    verdict: 'not applicable',
  },
  {
    name: 'completions trained on twice, without old log-probs',
    plant: ({ declared }) => {
      declared!.oldLogprobs = 'detach';
    },
    verdict: 'warn',
    measured: { detached: true },
  },
  {
    name: 'minibatches of their own, without old log-probs',
    plant: ({ declared, updates }) => {
      declared!.oldLogprobs = 'detach';
      updates![0]!.completions = Int32Array.of(0, 1);
      updates![1]!.completions = Int32Array.of(2, 3);
    },
    verdict: 'not applicable',
  },
]);
