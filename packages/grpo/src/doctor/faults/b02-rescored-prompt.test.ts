import { cutScored, testStepCheck } from '../planted.test.helper.js';

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
