import { testStepCheck } from '../planted.test.helper.js';

const tails =
  (header: string, tail: string) =>
  ({ prompts }: { prompts?: { texts?: string[]; assistantHeader?: string } | undefined }) => {
    prompts!.assistantHeader = header;
    prompts!.texts = prompts!.texts!.map((text) => text.replace('<|assistant|>', tail));
  };

testStepCheck('B03.blank', [
  {
    name: 'blank ones',
    plant: ({ completions }) => {
      completions!.texts!.fill(' \n', 0, 8);
    },
    verdict: 'warn',
    evidence: { completion: 0 },
  },
  {
    name: 'one of 24',
    plant: ({ completions }) => {
      completions!.texts![0] = '';
    },
    verdict: 'pass',
  },
]);

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
