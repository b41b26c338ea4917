import type { StepRecord } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';

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

/** Asks 1-8 in the first prompt, whose ids spell it so. */
const asks = (text: string) => (record: StepRecord) => {
  record.prompts!.messages![0] = [{ role: 'user', content: 'What is 1-8?' }];
  record.prompts!.texts![0] = `<s><|user|>${text}<|end|><|assistant|>`;
};

testStepCheck('B05.characters', [
  {
    name: 'a minus that a normalizer takes away',
    plant: asks('What is 1 8?'),
    verdict: 'warn',
    measured: { lost: 1, characters: '-' },
    evidence: { prompt: 0, text: 'What is 1-8?' },
  },
  { name: 'letters in lower case', plant: asks('what is 1-8?'), verdict: 'pass' },
  { name: 'another message', plant: asks('Hello'), verdict: 'pass' },
]);

/** A conversation in the template of the record. */
const turn = (content: string) => (record: StepRecord) => {
  record.tokenizer!.specialTokens = { 7: '<|user|>', 8: '<|end|>', 9: '<image>' };
  Object.assign(record.prompts!, { assistantHeader: '<|assistant|>', afterAnswer: '<|end|><|user|>' });
  record.prompts!.messages![1] = [{ role: 'user', content }];
};

testStepCheck('B05.rendered', [
  {
    name: 'a message that is a whole conversation',
    plant: turn('<|user|>What is 1-8?<|end|>'),
    verdict: 'warn',
    measured: { rendered: 1, token: '<|user|>' },
    evidence: { prompt: 1 },
  },
  { name: 'a token of another kind', plant: turn('<image>What is it?'), verdict: 'pass' },
]);

testStepCheck('B05.entities', [
  {
    name: 'a minus as a page has it',
    plant: turn('What is 1&minus;8?'),
    verdict: 'warn',
    measured: { found: 1, reference: '&minus;' },
    evidence: { prompt: 1 },
  },
  {
    name: 'a page that is asked about',
    plant: turn('What does <b>1&minus;8</b> look like?'),
    verdict: 'pass',
  },
  { name: 'an ampersand', plant: turn('What is A & B; and C?'), verdict: 'pass' },
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
