import type { StepRecord } from '../../trace/index.js';
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

const asked =
  (text: string, hasChatTemplate = true) =>
  (record: StepRecord) => {
    record.tokenizer!.hasChatTemplate = hasChatTemplate;
    record.prompts!.messages = record.prompts!.messages!.map(() => text);
    record.prompts!.texts = record.prompts!.texts!.map(() => text);
  };

testStepCheck('B01.plain', [
  { name: 'texts without any mark', plant: asked('3+4='), verdict: 'inform' },
  { name: 'texts that were rendered before', plant: asked('<|user|>3+4='), verdict: 'pass' },
  { name: 'no template', plant: asked('3+4=', false), verdict: 'pass' },
  { name: 'conversations', plant: () => {}, verdict: 'pass' },
]);
