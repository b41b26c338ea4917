import { testStepCheck } from '../planted.test.helper.js';

testStepCheck('B04.bos', [
  {
    name: 'two',
    plant: ({ prompts }) => {
      prompts!.ids![1] = 0;
    },
    verdict: 'fail',
    evidence: { prompt: 0, values: { found: 2 } },
  },
  {
    name: 'none',
    plant: ({ prompts }) => {
      prompts!.ids![prompts!.lengths![0]!] = 9;
    },
    verdict: 'fail',
    evidence: { prompt: 1, values: { found: 0 } },
  },
  {
    name: 'none, and none expected',
    plant: ({ prompts, tokenizer }) => {
      prompts!.ids = prompts!.ids!.map((id) => id || 9);
      tokenizer!.expectedBos = 0;
    },
    verdict: 'pass',
  },
]);
