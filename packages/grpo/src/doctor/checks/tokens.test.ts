import { cutScored, startOf, testStepCheck } from '../planted.test.helper.js';

testStepCheck('B02.prompt', [
  {
    name: 'another id in the middle of the third prompt',
    plant: ({ prompts }) => {
      prompts!.scoredIds![prompts!.lengths![0]! + prompts!.lengths![1]! + 4] = 45;
    },
    verdict: 'fail',
    evidence: { prompt: 2, token: 4 },
  },
  {
    name: 'a prompt that lost its last token',
    plant: ({ prompts }) => {
      prompts!.scoredIds = prompts!.scoredIds!.slice(0, -1);
      prompts!.scoredLengths![5]!--;
    },
    verdict: 'fail',
    evidence: { prompt: 5, values: { scored: 'nothing' } },
  },
  {
    name: 'a group that was dropped',
    plant: (record) => {
      for (const b of [20, 21, 22, 23]) cutScored(record, b, 0);
      const { prompts } = record;
      prompts!.scoredIds = prompts!.scoredIds!.slice(0, -prompts!.scoredLengths![5]!);
      prompts!.scoredLengths![5] = 0;
    },
    verdict: 'pass',
  },
]);

testStepCheck('B07.ids', [
  {
    name: 'one token of a completion',
    plant: (record) => {
      record.scored!.ids![startOf(record, 9) + 3] = 48;
    },
    verdict: 'fail',
    evidence: { completion: 9, token: 3 },
  },
  { name: 'a lost end token is another fault', plant: (record) => cutScored(record, 0, 2), verdict: 'pass' },
  {
    name: 'a row that was cut is another fault',
    plant: (record) => cutScored(record, 10, 4),
    verdict: 'pass',
  },
  { name: 'a completion left out as a whole', plant: (record) => cutScored(record, 10, 0), verdict: 'pass' },
]);
