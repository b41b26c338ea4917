import { expect, it } from 'vitest';
import type { Reward } from '../../rewards/index.js';
import type { Trainer } from '../../step/trainer.js';
import type { StepRecord } from '../../trace/index.js';
import { rewardDrift } from './drift.js';

const texts = ['1', '2', '3', '3', '5', '7'];
const problems = [{ answer: 2 }, { answer: 5 }].map((row) => ({ prompt: [], row }));

/** Two groups of three, graded by their own number. */
const first = {
  step: 1,
  prompts: { rows: problems.map(({ row }) => row) },
  completions: {
    texts,
    ids: Int32Array.from(texts, Number),
    lengths: new Int32Array(6).fill(1),
    prompt: Int32Array.of(0, 0, 0, 1, 1, 1),
  },
  rewards: {
    names: ['own'],
    values: Float64Array.from(texts, Number),
    totals: Float64Array.from(texts, Number),
  },
} as unknown as StepRecord;

type Score = (text: string, row: { answer: number }) => number;

function driftOf(score: Score, more: Partial<Trainer> = {}, of = problems) {
  const reward = {
    name: 'own',
    weight: 1,
    score: async ({ completions, rows }: Parameters<Reward['score']>[0]) =>
      completions.map((text, i) => score(text, rows[i] as { answer: number })),
  } as unknown as Reward;
  const trainer = { task: { rewards: [reward] }, config: { rewards: [], dtype: 'float32' }, ...more };
  return rewardDrift(trainer as unknown as Trainer, first, of);
}

it('finds a reward that gives the group that differs most other values now', async () => {
  expect(await driftOf(Number)).toEqual([{ reward: 'own', since: 1, graded: 3, changed: 0 }]);
  expect(await driftOf((text) => (text === '7' ? 0 : text === '3' ? 2 : Number(text)))).toEqual([
    { reward: 'own', since: 1, graded: 3, changed: 2, earned: 7, earns: 0 },
  ]);
  // A completion is graded with its own row.
  expect(await driftOf((text, { answer }) => Number(text) - answer + 5)).toMatchObject([{ changed: 0 }]);
  expect(await driftOf(() => Number.NaN)).toMatchObject([{ changed: 3, earns: null }]);
});

it('says nothing of chance, of a stage of somebody’s own, and of rows that are others now', async () => {
  let calls = 0;
  expect(await driftOf(() => calls++)).toEqual([]);
  expect(await driftOf(() => 0, { ownStages: ['score'] })).toEqual([]);
  expect(await driftOf(() => 0, {}, [])).toEqual([]);
});
