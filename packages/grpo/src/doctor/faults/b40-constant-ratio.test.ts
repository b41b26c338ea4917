import type { StepRecord } from '../../trace/index.js';
import { change, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare, half, sequences } from '../plants.test.helper.js';

const clipped = 'clip_ratio/region_mean';
const stuck = (record: StepRecord) => {
  record.updates![1]!.ratios!.fill(1);
};

const moved = ({ updates }: StepRecord) => {
  updates![0]!.changedWeightShare = 0.08;
};
testLogCheck('B40.log', [
  {
    name: 'never clipped in 100',
    metrics: { [clipped]: times(100, 0) },
    declared: { updatesPerRollout: 2 },
    verdict: 'warn',
  },
  {
    name: 'never clipped in 30',
    metrics: { [clipped]: times(30, 0) },
    declared: { updatesPerRollout: 2 },
    verdict: 'inform',
  },
  {
    name: 'one update a rollout',
    metrics: { [clipped]: times(100, 0) },
    declared: { updatesPerRollout: 1 },
    verdict: 'not applicable',
  },
]);

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
  {
    name: 'tokens that are certain',
    plant: all(stuck, ({ updates }) => void updates![1]!.policyLogprobs!.fill(-3e-7)),
    verdict: 'not applicable',
  },
  { name: 'bfloat16 weights that moved', plant: all(stuck, half, moved), verdict: 'fail' },
  {
    name: 'few different log-probs of bfloat16, whose logits move by steps',
    plant: all(stuck, half, moved, ({ updates }) => void updates![1]!.policyLogprobs!.fill(-0.5)),
    verdict: 'not applicable',
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
      declared!.objective!.oldLogprobs = 'detach';
    },
    verdict: 'warn',
    measured: { detached: true },
  },
  {
    name: 'minibatches of their own, without old log-probs',
    plant: ({ declared, updates }) => {
      declared!.objective!.oldLogprobs = 'detach';
      updates![0]!.completions = Int32Array.of(0, 1);
      updates![1]!.completions = Int32Array.of(2, 3);
    },
    verdict: 'not applicable',
  },
]);

testStepCheck('B40.old', [
  {
    name: 'old log-probs taken again',
    plant: (record) => change(record, 'ratios', () => 1, 1),
    verdict: 'fail',
    evidence: { completion: 0, token: 0, values: { update: 2, ratio: 1 } },
  },
  {
    name: 'sequence ratios, as declared',
    plant: all(sequences, declare({ objective: { ratio: 'sequence' } })),
    verdict: 'pass',
  },
  { name: 'sequence ratios, where tokens’ are declared', plant: sequences, verdict: 'fail' },
]);

testLogCheck('B40.still', [
  {
    name: 'a ratio of 1 with several updates',
    metrics: { 'ratio/mean': times(9, 1) },
    declared: { updatesPerRollout: 4 },
    verdict: 'warn',
  },
  { name: 'a ratio of 1 of unknown updates', metrics: { 'ratio/mean': times(9, 1) }, verdict: 'inform' },
  {
    name: 'a ratio of 1 with one update',
    metrics: { 'ratio/mean': times(9, 1) },
    declared: { updatesPerRollout: 1 },
    verdict: 'not applicable',
  },
  {
    name: 'a mean of 1 and a largest ratio above it',
    metrics: { 'ratio/mean': times(9, 1), 'ratio/max': times(9, 1.3) },
    verdict: 'pass',
  },
  {
    name: 'a ratio with two decimals',
    metrics: { 'ratio/mean': times(9, 1) },
    series: { decimals: { 'ratio/mean': 2 } },
    verdict: 'not applicable',
  },
]);
