import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';
import { judgeRun, recordsOf } from '../plants.test.helper.js';

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

testStepCheck('B03.closed', [
  {
    name: 'an end token behind each',
    plant: ({ prompts, tokenizer }) => {
      let end = 0;
      for (const length of prompts!.lengths!) {
        end += length;
        prompts!.ids![end - 1] = tokenizer!.endIds![0]!;
      }
    },
    verdict: 'warn',
    measured: { closed: 6 },
  },
]);

testStepCheck('B03.open', [
  {
    name: 'a line break alone behind an answer',
    plant: ({ prompts }) => {
      Object.assign(prompts!, { assistantHeader: '<|user|>assistant', afterAnswer: '\n<|user|>' });
    },
    verdict: 'warn',
    measured: { after: '\n<|user|>' },
  },
  {
    name: 'a next turn that ends a completion',
    plant: ({ prompts, tokenizer }) => {
      Object.assign(prompts!, { assistantHeader: '<|user|>assistant', afterAnswer: '<|user|>' });
      tokenizer!.endIds = [47];
    },
    verdict: 'pass',
  },
  {
    name: 'words alone',
    plant: ({ prompts }) => {
      Object.assign(prompts!, { assistantHeader: 'Answer:', afterAnswer: '\n' });
    },
    verdict: 'not applicable',
  },
]);

/** The first prompt as a conversation of one message, and as its text. */
const reads =
  (text: string) =>
  ({ prompts }: StepRecord) => {
    prompts!.messages![0] = [{ role: 'user', content: 'What is 1-8?' }];
    prompts!.texts![0] = text;
  };

testStepCheck('B03.glued', [
  {
    name: 'a template that ate the line breaks',
    plant: reads('<|im_start|>userWhat is 1-8?<|im_end|><|im_start|>assistant'),
    verdict: 'warn',
    measured: { glued: 1, text: 'userWhat is 1-8?' },
    evidence: { prompt: 0 },
  },
  { name: 'a line break', plant: reads('<|im_start|>user\nWhat is 1-8?<|im_end|>'), verdict: 'pass' },
  { name: 'a token', plant: reads('<|user|>What is 1-8?<|end|>'), verdict: 'pass' },
]);

/** A first prompt whose turns `<|user|>` opens. */
const begins = (text: string) => (record: StepRecord) => {
  record.tokenizer!.specialTokens = { 7: '<|user|>' };
  Object.assign(record.prompts!, { assistantHeader: '<|user|>assistant\n', afterAnswer: '' });
  record.prompts!.texts![0] = text;
};

testStepCheck('B03.indented', [
  {
    name: 'a template over several lines',
    plant: begins('<|user|>user\nWhat?\n    <|user|>assistant\n'),
    verdict: 'warn',
    measured: { indented: 1 },
    evidence: { prompt: 0 },
  },
  {
    name: 'lines of a message',
    plant: begins('<|user|>user\nWhat?\n    this\n<|user|>assistant\n'),
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

describe('B03.cut', () => {
  /** Prompts of as many tokens as are given, which end in 8 9 unless they are cut. */
  const judged = (...prompts: readonly { tokens: number; isCut?: boolean }[]) =>
    judgeRun(
      'B03.cut',
      recordsOf([1, 2], (record, step) => {
        const ids = prompts.map(({ tokens, isCut = false }, p) =>
          Array.from({ length: tokens }, (_, t) =>
            isCut || t < tokens - 2 ? 10 * step + p : t - tokens + 10,
          ),
        );
        record.prompts!.ids = Int32Array.from(ids.flat());
        record.prompts!.lengths = Int32Array.from(ids, ({ length }) => length);
      }),
    );
  const whole = [{ tokens: 7 }, { tokens: 9 }, { tokens: 12 }];

  it('warns where all that end otherwise have the largest length', () => {
    expect(judged(...whole, { tokens: 12, isCut: true })).toMatchObject({
      severity: 'warn',
      measured: { prompts: 8, cut: 2, tokens: 12 },
    });
  });

  it('passes whole prompts, others that are shorter or longer, and prompts of many ends', () => {
    expect(judged(...whole)).toMatchObject({ verdict: 'pass' });
    expect(judged(...whole, { tokens: 11, isCut: true })).toMatchObject({ verdict: 'pass' });
    expect(judged(...whole, { tokens: 14, isCut: true }, { tokens: 13, isCut: true })).toMatchObject({
      verdict: 'pass',
    });
    const cut = { tokens: 12, isCut: true };
    expect(judged(...whole, cut, cut, cut)).toMatchObject({ verdict: 'pass' });
  });
});
