import { testLogCheck, testStepCheck } from '../planted.test.helper.js';

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
