import { expect, it } from 'vitest';
import type { Batch } from '../step/batch.js';
import { auditedTokens, chosenOf } from './chosen.js';

/** A batch of groups of four, of which the lengths and the advantages count. */
function batchOf(advantages: readonly number[], lengths = advantages.map(() => 5)): Batch {
  const P = advantages.length / 4;
  return {
    problems: Array.from({ length: P }),
    prompts: Array.from({ length: P }, () => ({ ids: [1, 2] })),
    completions_B: lengths.map((length) => ({ ids: Array.from({ length }) })),
    groupSize: 4,
    problemOf: (b: number) => Math.floor(b / 4),
    iterations: [],
    advantages: { advantages: Float64Array.from(advantages) },
  } as unknown as Batch;
}

const flat = [0, 0, 0, 0];
const steps = Array.from({ length: 50 }, (_, step) => step);

it('takes a better and a worse completion of each of two prompts that teach', () => {
  const batch = batchOf([...flat, 1, 1, 1, -3, ...flat, -1, -1, 0, 2, ...flat]);
  for (const step of steps) {
    const chosen = chosenOf(batch, 7, step, 1);
    expect(chosen.map((b) => Math.floor(b / 4))).toEqual([1, 1, 3, 3]);
    const signs = chosen.map((b) => Math.sign(batch.advantages.advantages[b]!));
    expect(new Set(signs.slice(0, 2))).toEqual(new Set([1, -1]));
    expect(signs[2]).not.toBe(signs[3]);
    expect(chosenOf(batch, 7, step, 1)).toEqual(chosen);
  }
  expect(new Set(steps.map((step) => chosenOf(batch, 7, step, 1).join())).size).toBeGreaterThan(5);
});

it('takes any prompts where none teaches, and fewer where there are fewer', () => {
  const seen = steps.map((step) => chosenOf(batchOf([...flat, ...flat, ...flat]), 7, step, 1));
  expect(new Set(seen.flat()).size).toBe(12);
  expect(chosenOf(batchOf(flat), 7, 0, 1)).toHaveLength(2);
});

it('takes the shorter of long completions', () => {
  const lengths = [3000, 2000, 4000, 5000, 9000, 9000, 8000, 7000, 6000, 6000, 6000, 6000];
  for (const step of steps)
    expect(chosenOf(batchOf([1, -1, 1, -1, 1, 1, -1, -1, ...flat], lengths), 7, step, 1)).toEqual(
      expect.arrayContaining([0, 1]),
    );
});

it('takes fewer for a large model, at least one, and in turn two of one prompt and of two', () => {
  const batch = batchOf([1, -1, 1, -1, 1, 1, -1, -1], Array<number>(8).fill(98));
  const chosen = (step: number, weights: number) => chosenOf(batch, 7, step, weights);
  expect(chosen(0, 2.4e8)).toHaveLength(4);
  expect(chosen(0, 2.6e8)).toHaveLength(3);
  const promptsAt = (step: number) => new Set(chosen(step, 4e8).map((b) => batch.problemOf(b))).size;
  expect([0, 1, 2, 3].map(promptsAt)).toEqual([1, 2, 1, 2]);
  expect(chosen(0, 4e8)).toHaveLength(2);
  expect(chosen(0, 7e9)).toHaveLength(1);
  for (const weights of [2.4e8, 2.6e8, 4e8, 7e9])
    expect(100 * chosen(0, weights).length).toBeLessThanOrEqual(
      auditedTokens(weights, { prompt: 50, completion: 50 }, true).tokens,
    );
});

it('counts the prompts of completions that share them once, and scores none of them', () => {
  const lengths = { prompt: 600, completion: 32 };
  const scored = { longest: 32, all: 4 * 32 };
  expect(auditedTokens(1e6, lengths, false)).toEqual({
    longest: 632,
    tokens: 4 * 632,
    packed: 4 * 632,
    scored,
  });
  expect(auditedTokens(1e6, lengths, true).packed).toBe(2 * 600 + 4 * 32);
  const long = { prompt: 1000, completion: 3000 };
  expect(auditedTokens(5e8, long, true)).toMatchObject({ longest: 4000, tokens: 4000, packed: 4000 });
});
