import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { disposePolicies } from '../../lab/lab-policy.js';
import { type LabRun, labRun } from '../../lab/lab-run.js';
import { type LettersOptions, type LettersRow, lettersTask } from '../../lab/letters-task.js';
import type { RewardTable } from '../../rewards/index.js';
import { Batch } from '../../step/batch.js';
import { stages as standard } from '../../step/stages.js';
import { comparisonsOf, disagreements } from '../audit.test.helper.js';

afterAll(disposePolicies);

/** A run whose columns of rewards are changed, the first for the others. */
const scoring = (change: (column: Float64Array, table: RewardTable) => Float64Array): LabRun => ({
  stages: {
    async score(...args) {
      const table = await standard.score(...args);
      return { ...table, columns: table.columns.map((column) => change(column, table)) };
    },
  },
});

const rewarding = (rewards: LettersOptions['rewards']): LabRun => ({
  task: lettersTask({ rewards: rewards! }),
});

/** Completions of a prompt in the lab's runs. */
const GROUP = 6;

const shift = (column: Float64Array, by: number) =>
  column.map((_, b) => column[(b + by + column.length) % column.length]!);

describe('a reward', () => {
  it.each<[string, LabRun, string]>([
    [
      'of the next completion',
      scoring((column) => shift(column, 1)),
      'completion that the value of the reward right belongs to',
    ],
    [
      'of the last completion of the group before',
      scoring((column) => shift(column, -1)),
      'completion that the value of the reward right belongs to',
    ],
    [
      'in order of size',
      scoring((column) => column.slice().sort()),
      'completion that the value of the reward right belongs to',
    ],
    [
      'of the completion at the other end of its group, by what calls the stage',
      {
        stages: {
          async score(task, ...others) {
            const table = await standard.score(task, ...others);
            // The audit asks for one reward at a time.
            if (task.rewards.length === 1) return table;
            const mirrored = (column: Float64Array) =>
              column.map((_, b) => column[b - (b % GROUP) + GROUP - 1 - (b % GROUP)]!);
            return { ...table, columns: table.columns.map(mirrored) };
          },
        },
      },
      'completion that the value of the reward right belongs to',
    ],
    [
      'with the row of the next prompt',
      {
        stages: {
          score: (task, problems, groups, onError) =>
            standard.score(task, [...problems.slice(1), problems[0]!], groups, onError),
        },
      },
      'prompt whose row the reward right grades with',
    ],
    [
      'with the row of the first prompt',
      {
        stages: {
          score: (task, problems, groups, onError) =>
            standard.score(
              task,
              problems.map(() => problems[0]!),
              groups,
              onError,
            ),
        },
      },
      'prompt whose row the reward right grades with',
    ],
    ['halved', scoring((column) => column.map((value) => value / 2)), 'reward right'],
    [
      'with another weight',
      {
        stages: {
          async score(...args) {
            const table = await standard.score(...args);
            return { ...table, weights: [1, 1] };
          },
        },
      },
      'weight of the reward length',
    ],
    [
      'of the row that stands at its place',
      rewarding({
        right: {
          batch: ({ completions, rows }) =>
            completions.map((completion, i) => Number(completion[0] === rows[Math.floor(i / 4)]!.answer[0])),
        },
      }),
      'reward right in another order',
    ],
  ])('%s is found', async (_, run, quantity) => {
    expect((await disagreements('reward', run))[0]).toBe(quantity);
  });

  let asked = 0;
  it.each<[string, LettersOptions['rewards'], RegExp | undefined]>([
    ['of chance', { luck: () => Math.random() }, /luck gives other values when it is asked again/],
    ['of how often it was asked', { tired: () => 1 / ++asked }, /tired gives other values/],
    [
      'of what it has seen before',
      (() => {
        const seen = new Set<string>();
        const isNew = (text: string, { question }: LettersRow) => {
          const key = `${question}: ${text}`;
          const known = seen.has(key);
          seen.add(key);
          return Number(!known);
        };
        return { novelty: isNew };
      })(),
      /novelty gives other values/,
    ],
    [
      'of the other completions of its group',
      {
        rank: {
          batch: ({ completions, rows }) =>
            completions.map(
              (own, i) =>
                completions.filter((other, k) => rows[k] === rows[i] && other.length < own.length).length,
            ),
        },
      },
      undefined,
    ],
    [
      'of the other completions of its batch',
      {
        rank: {
          batch: ({ completions }) =>
            completions.map((own) => completions.filter((other) => other.length < own.length).length),
        },
      },
      undefined,
    ],
    [
      'that is for the first of equal completions',
      { novel: { batch: ({ completions: all }) => all.map((text, i) => Number(all.indexOf(text) === i)) } },
      undefined,
    ],
    ['that has no opinion', { right: (completion) => (completion.length % 2 ? null : 1) }, undefined],
  ])('%s disagrees with nothing', async (_, rewards, missing) => {
    const { records } = await labRun(rewarding(rewards));
    for (const { audit } of records) {
      const own = audit!.comparisons.filter(({ handOver }) => handOver === 'reward');
      expect(own.filter(({ deviation, bound }) => !(deviation <= bound))).toEqual([]);
      const lack = audit!.missing.find(({ handOver }) => handOver === 'reward')?.what;
      if (missing) expect(lack).toMatch(missing);
      else expect(lack).toBeUndefined();
    }
  });
});

it.each<[string, { isStateless?: true }, string[]]>([
  [
    'a built-in reward is told',
    { isStateless: true },
    ['completion that the value of the reward even belongs to', 'reward even'],
  ],
  ['one of two values may have had a state', {}, []],
])('of another completion that the stage gives only once: %s', async (_, mark, quantities) => {
  const task = lettersTask({ rewards: { even: ({ length }) => length % 2, length: ({ length }) => length } });
  const [even, length] = task.rewards;
  const run: LabRun = {
    task: { ...task, rewards: [{ ...even!, ...mark }, length!] },
    stages: {
      async score(own, ...others) {
        const table = await standard.score(own, ...others);
        const [first, ...rest] = table.columns;
        // The audit asks for one reward at a time.
        return own.rewards.length === 1 ? table : { ...table, columns: [shift(first!, 1), ...rest] };
      },
    },
  };
  expect(await disagreements('reward', run)).toEqual(quantities);
});

it('for length agrees as declared', async () => {
  const settings = ['groups.overlongBuffer=6'];
  expect(await disagreements('reward', { settings })).toEqual([]);
});

it('is told when the penalty of the KL is added', async () => {
  const settings = ['kl.beta=0.1', 'kl.place=reward', 'objective.oldLogprobs=recompute'];
  const quantity = 'weight of the reward kl_penalty';
  const compared = (await comparisonsOf({ settings })).filter((one) => one.quantity === quantity);
  expect(compared).toContainEqual(expect.objectContaining({ found: -1, plain: -1 }));
  const { get } = Object.getOwnPropertyDescriptor(Batch.prototype, 'compared')!;
  const wrong = vi.spyOn(Batch.prototype, 'compared', 'get').mockImplementation(function (this: Batch) {
    const columns = get!.call(this) as Batch['compared'];
    return { ...columns, weights: columns.weights.map(Math.abs) };
  });
  onTestFinished(() => wrong.mockRestore());
  expect(await disagreements('reward', { settings })).toContain(quantity);
});

it('that fails is not asked again', async () => {
  const run = rewarding({
    right: (completion) => {
      if (completion.includes('h')) throw new Error('no');
      return completion.length;
    },
  });
  const { records } = await labRun({ ...run, settings: ['onRewardError=drop'] });
  const lacks = records.flatMap(({ audit }) => audit!.missing.map(({ what }) => what));
  expect(lacks).toContainEqual(expect.stringMatching(/reward right without a failure/));
  expect(await disagreements('reward', { ...run, settings: ['onRewardError=drop'] })).toEqual([]);
});
