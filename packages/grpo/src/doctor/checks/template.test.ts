import { testStepCheck } from '../planted.test.helper.js';

const tails =
  (header: string, tail: string) =>
  ({ prompts }: { prompts?: { texts?: string[]; assistantHeader?: string } | undefined }) => {
    prompts!.assistantHeader = header;
    prompts!.texts = prompts!.texts!.map((text) => text.replace('<|assistant|>', tail));
  };

testStepCheck('B03.header', [
  { name: 'no header', plant: tails('<|assistant|>', ''), verdict: 'fail', evidence: { prompt: 0 } },
  {
    name: 'a header of an earlier turn only',
    plant: tails('<|assistant|>', '<|assistant|>an answer<|end|><|user|>and now?<|end|>'),
    verdict: 'fail',
  },
  { name: 'one character of it by chance', plant: tails('>answer:', ''), verdict: 'fail' },
  {
    name: 'the template puts more before an answer',
    plant: tails('<|assistant|>\n<think>\n\n</think>\n\n', '<|assistant|>\n'),
    verdict: 'pass',
  },
  {
    name: 'the prompt opens more than the template',
    plant: tails('<|assistant|>', '<|assistant|><think>\n'),
    verdict: 'pass',
  },
  { name: 'a plain header', plant: tails('\n\nAssistant:', '\n\nAssistant:'), verdict: 'pass' },
  { name: 'a template without one', plant: tails(' ', ''), verdict: 'not applicable' },
  {
    name: 'the answer is begun',
    plant: (record) => {
      tails('<|assistant|>', '<|assistant|>The answer is')(record);
      record.prompts!.messages = record.prompts!.messages!.map((prompt) => [
        ...(prompt as unknown[]),
        { role: 'assistant', content: 'The answer is' },
      ]);
    },
    verdict: 'pass',
  },
]);

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

testStepCheck('B05.system', [
  {
    name: 'a system prompt that the template drops',
    plant: ({ prompts }) => {
      prompts!.messages![3] = [
        { role: 'system', content: 'Answer briefly, in French.' },
        ...(prompts!.messages![3] as unknown[]),
      ];
    },
    verdict: 'fail',
    evidence: { prompt: 3, values: { role: 'system' } },
  },
  {
    name: 'a letter that encoding normalised',
    plant: ({ prompts }) => {
      prompts!.texts![0] = prompts!.texts![0]!.replace('What', '<unk>');
    },
    verdict: 'pass',
  },
  {
    name: 'a plain text for a prompt',
    plant: ({ prompts }) => {
      prompts!.messages = prompts!.texts!.slice();
    },
    verdict: 'not applicable',
  },
]);

testStepCheck('B05.date', [
  {
    name: 'a date of the template’s',
    plant: ({ prompts }) => {
      prompts!.texts![2] = `<s>Today Date: 26 Jul 2025\n${prompts!.texts![2]}`;
    },
    verdict: 'inform',
    evidence: { prompt: 2, text: 'Today Date: 26 Jul 2025' },
  },
  {
    name: 'a date of the user’s',
    plant: ({ prompts }) => {
      prompts!.texts![2] = `<s>Current date: 2025-07-26\n${prompts!.texts![2]}`;
      prompts!.messages![2] = [{ role: 'system', content: 'Current date: 2025-07-26' }];
    },
    verdict: 'pass',
  },
]);

testStepCheck('B09.prompt', [
  {
    name: 'two prompts at the limit',
    plant: ({ prompts, declared }) => {
      prompts!.lengths!.set([15, 15], 4);
      prompts!.lengths![0] = prompts!.lengths![0]! - 1;
      declared!.maxPromptTokens = 15;
    },
    verdict: 'warn',
    evidence: { prompt: 4 },
  },
  {
    name: 'one of six has that length',
    plant: ({ declared }) => {
      declared!.maxPromptTokens = 15;
    },
    verdict: 'pass',
  },
]);

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
