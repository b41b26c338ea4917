import type { StepRecord } from '../../trace/index.js';
import { change, startOf, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare, weigh } from '../plants.test.helper.js';

const accumulation = (cosine: number, normRatio: number) => (record: StepRecord) => {
  record.probes!.accumulation = { cosine, normRatio };
};

/** Masks the last completion as a whole. */
const maskLast = (record: StepRecord) => {
  record.scored!.mask!.fill(0, startOf(record, 23));
};

const masked = (record: StepRecord) => {
  const start = startOf(record, 23);
  for (const i of [0, 1]) change(record, 'weights', (value, t) => (t < start ? value : 0), i);
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
    plant: all(accumulation(0.9, 1.2), declare({ objective: { loss: 'bnpo' } })),
    verdict: 'not applicable',
  },
]);

testStepCheck('B41.weights', [
  {
    name: 'sums, as declared',
    plant: all(
      weigh((_, rows) => 1 / rows),
      declare({ objective: { policy: 'clip', ratio: 'sequence', aggregation: 'sum' } }),
    ),
    verdict: 'pass',
  },
  {
    name: 'a KL of completions with the weights of tokens',
    plant: declare({ kl: { level: 'sequence_mean' } }),
    verdict: 'fail',
  },
  {
    name: 'a loss of one’s own',
    plant: all(
      weigh((length) => length),
      declare({ ownStages: ['objective'] }),
    ),
    verdict: 'not applicable',
  },
  {
    name: 'nothing known of the loss',
    plant: ({ declared }) => void delete declared!.objective!.loss,
    verdict: 'not applicable',
  },
  {
    name: 'tokens of half the update',
    plant: weigh((_, __, tokens) => 2 / tokens),
    verdict: 'fail',
    evidence: { completion: 0, token: 0 },
  },
  {
    name: 'by sequence, where tokens are declared',
    plant: weigh((length, rows) => 1 / (rows * length)),
    verdict: 'fail',
  },
  {
    name: 'a masked token that weighs',
    plant: (record) => {
      record.scored!.mask![startOf(record, 12) + 2] = 0;
    },
    verdict: 'fail',
  },
  {
    name: 'grpo',
    plant: all(
      weigh((length, rows) => 1 / (rows * length)),
      declare({ objective: { loss: 'grpo' } }),
    ),
    verdict: 'pass',
  },
  {
    name: 'grpo, masked completions counted',
    plant: all(
      weigh((length, rows) => 1 / (rows * length)),
      declare({ objective: { loss: 'grpo' } }),
      maskLast,
      masked,
    ),
    verdict: 'pass',
  },
  {
    name: 'grpo, masked completions not counted',
    plant: all(
      weigh((length, rows) => 1 / ((rows - 1) * length)),
      declare({ objective: { loss: 'grpo' } }),
      maskLast,
      masked,
    ),
    verdict: 'pass',
  },
  {
    name: 'dr_grpo',
    plant: all(
      weigh((_, rows) => 1 / (rows * 64)),
      declare({ objective: { loss: 'dr_grpo' } }),
    ),
    verdict: 'pass',
  },
  { name: 'cispo', plant: declare({ objective: { loss: 'cispo' } }), verdict: 'pass' },
  {
    name: 'bnpo',
    plant: all(
      weigh(() => 0.1),
      declare({ objective: { loss: 'bnpo' } }),
    ),
    verdict: 'not applicable',
  },
]);

testLogCheck('B41.kept', [
  {
    name: 'norms of sums over all steps',
    metrics: { grad_norm: times(60, (i) => Math.sqrt(i + 1) + 0.02 * (i % 3)) },
    verdict: 'warn',
    measured: { first: 1 },
  },
  {
    name: 'norms that grow, each of another batch',
    metrics: { grad_norm: times(60, (i) => Math.sqrt(i + 1) * (1 + 0.2 * (i % 3))) },
    verdict: 'pass',
  },
  { name: 'one jump', metrics: { grad_norm: times(60, (i) => (i < 30 ? 1 : 9)) }, verdict: 'pass' },
  { name: 'norms that stay', metrics: { grad_norm: times(60, (i) => 1 + 0.02 * (i % 3)) }, verdict: 'pass' },
  { name: 'too few', metrics: { grad_norm: times(10, (i) => i + 1) }, verdict: 'not applicable' },
]);
