import type { StepRecord } from '../../trace/index.js';
import { change, startOf, testStepCheck } from '../planted.test.helper.js';

/** Weighs each token by its completion’s length. */
const weigh =
  (weightOf: (length: number, rows: number, tokens: number) => number) =>
  (record: StepRecord): void => {
    const lengths = [...record.scored!.lengths!];
    const tokens = lengths.reduce((a, b) => a + b, 0);
    const weights = lengths.flatMap((length) =>
      Array<number>(length).fill(weightOf(length, lengths.length, tokens)),
    );
    for (const update of record.updates!) update.weights = Float32Array.from(weights);
  };
const declare = (changes: NonNullable<StepRecord['declared']>) => (record: StepRecord) => {
  record.declared = { ...record.declared, ...changes };
};
const all =
  (...plants: ((record: StepRecord) => void)[]) =>
  (record: StepRecord) => {
    for (const plant of plants) plant(record);
  };
/** Masks the last completion as a whole. */
const maskLast = (record: StepRecord) => {
  record.scored!.mask!.fill(0, startOf(record, 23));
};
const masked = (record: StepRecord) => {
  const start = startOf(record, 23);
  for (const i of [0, 1]) change(record, 'weights', (value, t) => (t < start ? value : 0), i);
};
const width = (record: StepRecord) => Math.max(...record.scored!.lengths!);

testStepCheck('B41.weights', [
  {
    name: 'sums, as declared',
    plant: all(
      weigh((_, rows) => 1 / rows),
      declare({ policy: 'clip', ratioLevel: 'sequence', aggregation: 'sum' }),
    ),
    verdict: 'pass',
  },
  {
    name: 'a KL of completions with the weights of tokens',
    plant: declare({ klLevel: 'sequence_mean' }),
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
    plant: ({ declared }) => void delete declared!.loss,
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
      declare({ loss: 'grpo' }),
    ),
    verdict: 'pass',
  },
  {
    name: 'grpo, masked completions counted',
    plant: all(
      weigh((length, rows) => 1 / (rows * length)),
      declare({ loss: 'grpo' }),
      maskLast,
      masked,
    ),
    verdict: 'pass',
  },
  {
    name: 'grpo, masked completions not counted',
    plant: all(
      weigh((length, rows) => 1 / ((rows - 1) * length)),
      declare({ loss: 'grpo' }),
      maskLast,
      masked,
    ),
    verdict: 'pass',
  },
  {
    name: 'dr_grpo',
    plant: all(
      weigh((_, rows) => 1 / (rows * 64)),
      declare({ loss: 'dr_grpo' }),
    ),
    verdict: 'pass',
  },
  { name: 'cispo', plant: declare({ loss: 'cispo' }), verdict: 'pass' },
  {
    name: 'bnpo',
    plant: all(
      weigh(() => 0.1),
      declare({ loss: 'bnpo' }),
    ),
    verdict: 'not applicable',
  },
]);

testStepCheck('B46.padding', [
  {
    name: 'divided by what the batch is wide',
    plant: (record) => weigh((_, rows) => 1 / (rows * width(record)))(record),
    verdict: 'fail',
  },
  {
    name: 'dr_grpo, whose constant is the width by chance',
    plant: (record) => {
      weigh((_, rows) => 1 / (rows * width(record)))(record);
      declare({ loss: 'dr_grpo', maxNewTokens: width(record) })(record);
    },
    verdict: 'not applicable',
  },
]);
