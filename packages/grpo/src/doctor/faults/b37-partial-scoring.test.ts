import { change, cutScored, startOf, testStepCheck } from '../planted.test.helper.js';

testStepCheck('B37.scored', [
  {
    name: 'only the first token is scored',
    plant: (record) => cutScored(record, 17, 1),
    verdict: 'fail',
    evidence: { completion: 17, values: { scored: 1 } },
  },
  {
    name: 'the end token alone is missing',
    plant: (record) => cutScored(record, 17, record.scored!.lengths![17]! - 1),
    verdict: 'pass',
  },
  { name: 'left out as a whole', plant: (record) => cutScored(record, 17, 0), verdict: 'pass' },
]);

testStepCheck('B37.broadcast', [
  {
    name: 'one position for all',
    plant: (record) => {
      const { lengths } = record.scored!;
      const policy = record.updates![0]!.policyLogprobs!;
      for (const [b, length] of lengths!.entries())
        policy.fill(-1 - b / 10, startOf(record, b), startOf(record, b) + length);
    },
    verdict: 'fail',
  },
  {
    name: 'certain tokens',
    plant: (record) => change(record, 'policyLogprobs', () => -1e-4),
    verdict: 'not applicable',
  },
]);
