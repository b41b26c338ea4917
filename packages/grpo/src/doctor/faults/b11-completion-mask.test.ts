import { cutScored, startOf, testStepCheck } from '../planted.test.helper.js';

testStepCheck('B11.mask', [
  {
    name: 'the first tokens of a completion left out',
    plant: (record) => {
      record.scored!.mask!.fill(0, startOf(record, 14), startOf(record, 14) + 2);
    },
    verdict: 'fail',
    evidence: { completion: 14, token: 0 },
  },
  {
    name: 'a tool’s answer trained on',
    plant: (record) => {
      record.completions!.source![startOf(record, 20) + 7] = 1;
    },
    verdict: 'fail',
    evidence: { completion: 20, token: 7, values: { mask: 1 } },
  },
  {
    name: 'a tool’s answer left out',
    plant: (record) => {
      record.completions!.source![startOf(record, 20) + 7] = 1;
      record.scored!.mask![startOf(record, 20) + 7] = 0;
    },
    verdict: 'pass',
  },
  {
    name: 'a wrong mask of a completion that lost its end token too',
    plant: (record) => {
      cutScored(record, 10, record.scored!.lengths![10]! - 1);
      record.scored!.mask![startOf(record, 10) + 1] = 0;
    },
    verdict: 'fail',
    evidence: { completion: 10, token: 1 },
  },
  {
    name: 'a completion that was cut off, masked as a whole',
    plant: (record) => {
      record.scored!.mask!.fill(0, startOf(record, 14), startOf(record, 15));
    },
    verdict: 'pass',
  },
]);
