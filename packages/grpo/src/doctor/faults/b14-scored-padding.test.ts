import type { StepRecord } from '../../trace/index.js';
import { startOf, testLogCheck, testStepCheck } from '../planted.test.helper.js';
import { all } from '../plants.test.helper.js';

const reference = 'sequence_logprob_reference';

testLogCheck('B14.log', [
  {
    name: 'one total for different texts',
    metrics: { [reference]: [-1072], [`${reference}/equal`]: [4], [`${reference}/spread`]: [0.01] },
    verdict: 'warn',
    measured: { equal: 4 },
  },
  {
    name: 'certain texts',
    metrics: { [reference]: [-0.2], [`${reference}/equal`]: [4], [`${reference}/spread`]: [0.01] },
    verdict: 'pass',
  },
]);

testStepCheck('B14.beyond', [
  {
    name: 'trailing padding is scored',
    plant: (record) => {
      const { completions } = record;
      completions!.lengths![23]! -= 3;
      completions!.ids = completions!.ids!.slice(0, -3);
    },
    verdict: 'fail',
    evidence: { completion: 23, values: { extra: 3 } },
  },
]);

const PAD = 48;
const END = 49;

/** Ends a completion early, and fills the rest with padding; mask 1 is kept. */
const padded =
  (...completions: number[]) =>
  (record: StepRecord) => {
    for (const b of completions) {
      const start = startOf(record, b);
      record.completions!.ids!.fill(PAD, start + 4, start + record.completions!.lengths![b]!);
      record.completions!.ids![start + 3] = END;
    }
  };

const padIsNoEnd = ({ tokenizer }: StepRecord) => {
  tokenizer!.endIds = [END];
};

testStepCheck('B14.padding', [
  {
    name: 'padding with mask 1',
    plant: all(padIsNoEnd, padded(20)),
    verdict: 'fail',
    evidence: { completion: 20, token: 4 },
    measured: { padded: 1 },
  },
  {
    name: 'the same where end tokens are the padding, in one completion',
    plant: padded(20),
    verdict: 'pass',
  },
  { name: 'and in two', plant: padded(20, 21), verdict: 'fail', measured: { padded: 2 } },
  {
    name: 'padding that the mask leaves out',
    plant: all(padIsNoEnd, padded(20), (record) => {
      const start = startOf(record, 20);
      record.scored!.mask!.fill(0, start + 4, start + record.scored!.lengths![20]!);
    }),
    verdict: 'pass',
  },
  {
    name: 'padding behind a token that ends completions for the sampler alone',
    plant: all(padIsNoEnd, padded(20, 21), ({ completions }) => {
      completions!.ids = completions!.ids!.map((id) => (id === END ? 7 : id));
    }),
    verdict: 'fail',
    measured: { padded: 2 },
  },
  {
    name: 'tokens of the model after an end token: B16',
    plant: all(padIsNoEnd, (record) => {
      record.completions!.ids![startOf(record, 20) + 3] = END;
    }),
    verdict: 'pass',
  },
]);
