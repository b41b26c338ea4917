import { cutScored, startOf, testStepCheck } from '../planted.test.helper.js';

testStepCheck('B07.raw', [
  {
    name: 'a tokenizer without its decoder',
    plant: ({ prompts }) => {
      prompts!.texts![2] = '<|user|> Ċ W h a t Ġ i s';
    },
    verdict: 'fail',
    measured: { raw: 1 },
    evidence: { prompt: 2 },
  },
  {
    name: 'a message in a language that has the letter',
    plant: ({ prompts }) => {
      prompts!.texts![2] = '<|user|>X’inhi Ġurnata?';
      prompts!.messages![2] = [{ role: 'user', content: 'X’inhi Ġurnata?' }];
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
    measured: { different: 1, prompts: 0 },
    evidence: { completion: 9, token: 3 },
  },
  {
    name: 'all completions of one prompt',
    plant: (record) => {
      for (const [b, prompt] of record.completions!.prompt!.entries())
        if (prompt === 1) record.scored!.ids![startOf(record, b)] = 48;
    },
    verdict: 'fail',
    measured: { prompts: 1 },
  },
  { name: 'a lost end token is another fault', plant: (record) => cutScored(record, 0, 2), verdict: 'pass' },
  {
    name: 'a row that was cut is another fault',
    plant: (record) => cutScored(record, 10, 4),
    verdict: 'pass',
  },
  { name: 'a completion left out as a whole', plant: (record) => cutScored(record, 10, 0), verdict: 'pass' },
]);
