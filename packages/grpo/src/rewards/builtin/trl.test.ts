import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { RewardBatch, RewardFunction, RewardValue } from '../reward.js';
import { scoreCompletions } from '../score.js';
import { type CosineLengthSettings, cosineLength, cosineScaled } from './cosine-length.js';
import { overlong } from './overlong.js';
import { repetition } from './repetition.js';
import { thinkFormat } from './think-format.js';

/** Rewards by TRL: fixture of `parity/make_reward_fixtures.py`. */
const expected = JSON.parse(
  readFileSync(new URL('../../../../../parity/fixtures/rewards.json', import.meta.url), 'utf8'),
) as {
  thinkFormat: { text: string; value: number }[];
  repetition: { ids: number[]; ngram: number; maxPenalty: number; value: number }[];
  cosineLength: { correct: boolean; length: number; settings: CosineLengthSettings; value: number }[];
  overlong: { length: number; maxTokens: number; buffer: number; value: number }[];
};

const batchOf = (batch: Partial<RewardBatch>): RewardBatch => {
  const count = (batch.completions ?? batch.completionIds)!.length;
  const fill = <T>(value: T) => new Array<T>(count).fill(value);
  return { prompts: fill('p'), completions: fill(''), rows: fill({}), ...batch };
};

const numberOf = (value: RewardValue | undefined) => (typeof value === 'object' ? value?.value : value);

async function one(score: RewardFunction<unknown>, batch: Partial<RewardBatch>) {
  return (await score(batchOf(batch)))[0]!;
}

/** `length` tokens. */
const tokens = (length: number) => [new Array<number>(length).fill(1)];

describe('as TRL', () => {
  it.each(expected.thinkFormat)('think-format: $text → $value', async ({ text, value }) => {
    expect(numberOf(await one(thinkFormat(), { completions: [text] }))).toBe(value);
  });

  it('repetition', async () => {
    expect(expected.repetition).toHaveLength(104);
    for (const { ids, value, ...settings } of expected.repetition) {
      expect(numberOf(await one(repetition(settings), { completionIds: [ids] })), `${ids}`).toBeCloseTo(
        value,
        12,
      );
    }
  });

  it('cosine-length', () => {
    expect(expected.cosineLength).toHaveLength(36);
    for (const { correct, length, settings, value } of expected.cosineLength)
      expect(cosineScaled(correct, length, settings)).toBeCloseTo(value, 12);
  });

  it('overlong', async () => {
    expect(expected.overlong).toHaveLength(51);
    for (const { length, value, ...settings } of expected.overlong)
      expect(await one(overlong(settings), { completionIds: tokens(length) })).toBeCloseTo(value, 12);
  });
});

describe('the values that TRL tests', () => {
  it.each<[number[], number, number, number]>([
    [[1, 2, 3, 4], 3, -1, 0],
    [[5, 5, 5, 5, 5], 2, -1, -0.75],
    [[1, 2, 1, 2, 1, 2], 2, -1, -0.6],
    [[1, 2, 3, 1, 2, 3], 2, -1, -0.4],
    [[1, 2, 3, 1, 2, 3], 3, -1, -0.25],
    [[5, 5, 5, 5, 5], 2, -0.5, -0.375],
    [[1, 2], 3, -1, 0],
  ])('repetition of %j, n = %i, p = %f: %f', async (ids, ngram, maxPenalty, value) => {
    const found = numberOf(await one(repetition({ ngram, maxPenalty }), { completionIds: [ids] }));
    expect(found).toBeCloseTo(value, 12);
    expect(Object.is(found, -0)).toBe(false);
  });

  it.each<[boolean, number, number]>([
    [true, 25, 0.92678],
    [true, 75, 0.57322],
    [false, 25, -0.92678],
    [false, 75, -0.57322],
    [true, 50, 0.75],
    [false, 50, -0.75],
    [true, 0, 1],
    [false, 0, -1],
    [true, 100, 0.5],
    [false, 130, -0.5],
  ])('cosine of right = %s at %i of 100 tokens: %f', (correct, length, value) => {
    expect(cosineScaled(correct, length, { maxTokens: 100 })).toBeCloseTo(value, 5);
  });
});

describe('a built-in reward', () => {
  it('names its rule', async () => {
    const texts = ['a', '<think>a', '<think>a<think></think>', '<think>a</think>'];
    const values = await thinkFormat()(batchOf({ completions: texts }));
    expect(values.map((value) => (value as { rule: string }).rule)).toEqual([
      'does not begin with <think>',
      'no </think>',
      '<think> again',
      'in think format',
    ]);
    expect(await one(repetition(), { completionIds: [[1]] })).toEqual({
      value: 0,
      rule: 'shorter than 3 tokens',
    });
  });

  it('takes thinking that the prompt has opened', async () => {
    const prompts = ['User: 1+1?\nAssistant: <think>'];
    expect(numberOf(await one(thinkFormat(), { prompts, completions: ['a</think> b'] }))).toBe(1);
    expect(numberOf(await one(thinkFormat(), { prompts, completions: ['<think>a</think> b'] }))).toBe(0);
  });

  it('scales by right and wrong answers', async () => {
    const score = cosineLength({ maxTokens: 4 }, 'answer');
    const batch = batchOf({
      completions: ['\\boxed{2}', '\\boxed{3}', '2', '\\boxed{2}'],
      rows: [{ answer: 2 }, { answer: 2 }, { answer: 2 }, { answer: ' ' }],
      completionIds: [[1, 1], [1, 1], [1, 1, 1, 1], [1]],
    });
    expect(await score(batch)).toEqual([
      { value: 0.75, parts: { correct: 1 }, rule: 'same text' },
      { value: -0.75, parts: { correct: 0 }, rule: 'different' },
      { value: -0.5, parts: { correct: 0 }, rule: 'no answer' },
      { value: null, rule: 'no gold' },
    ]);
  });

  it('of length never pays a right answer for being longer, nor one that is too long', () => {
    for (let length = 1; length < 40; length++) {
      const steps = [length - 1, length].map((n) => cosineScaled(true, n, { maxTokens: 30 }));
      expect(steps[1]).toBeLessThanOrEqual(steps[0]!);
      const wrong = [length - 1, length].map((n) => cosineScaled(false, n, { maxTokens: 30 }));
      expect(wrong[1]).toBeGreaterThanOrEqual(wrong[0]!);
      expect(Math.min(...steps)).toBeGreaterThan(Math.max(...wrong));
    }
  });

  it('that counts tokens says when it is given none', async () => {
    const rewards = [
      { name: 'long', weight: 1, score: overlong({ maxTokens: 4, buffer: 2 }) },
      { name: 'again', weight: 1, score: repetition() },
    ];
    const table = await scoreCompletions(rewards, batchOf({ completions: ['a', 'b'] }), { onError: 'drop' });
    expect(table.failures.map(({ reason }) => reason)).toEqual(
      new Array(2).fill('counts tokens, and the batch has no completionIds'),
    );
  });

  it('takes no reward for repetition', () => {
    expect(() => repetition({ maxPenalty: 0.5 })).toThrow('a penalty for repetition is 0 or less, found 0.5');
  });
});
