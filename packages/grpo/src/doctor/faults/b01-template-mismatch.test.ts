import { testStepCheck } from '../planted.test.helper.js';

testStepCheck('B01.markup', [
  {
    name: 'headers in the answers',
    plant: ({ completions }) => {
      completions!.texts!.fill('x<|user|>y', 4, 12);
    },
    verdict: 'warn',
    evidence: { completion: 4 },
  },
  {
    name: 'one, from a model that knows nothing',
    plant: ({ completions }) => {
      completions!.texts![4] = 'x<|user|>y';
    },
    verdict: 'pass',
  },
  {
    name: 'an answer that thinks, where the tag is a special token',
    plant: ({ completions, tokenizer }) => {
      tokenizer!.specialTokens = { 3: '<think>', 49: '<|end|>' };
      completions!.texts!.fill('<think>so</think>it is<|end|>');
    },
    verdict: 'pass',
  },
]);
