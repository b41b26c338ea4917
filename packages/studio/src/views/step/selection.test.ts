import type { StepAnswer } from 'grpo/studio';
import { describe, expect, it } from 'vitest';
import type { Completion } from '../../parts/rewards-of.js';
import { columnsOf } from './columns.js';
import { groupsOf, hasSignal, selectCompletions, selectionOf } from './selection.js';

/** Prompt, reward, advantage, finish and text of each completion. */
const ROWS: readonly [number, number | undefined, number, string, string][] = [
  [0, 0.5, -1, 'stop', 'five apples'],
  [0, 1, 1, 'length', 'six Apples'],
  [1, 0.2, 0, 'stop', 'a pear'],
  [1, 0.2, 0, 'stop', 'a pear (ripe)'],
  [2, Number.NaN, 0, 'stop', 'a plum'],
  [2, -1, 0.5, 'eos?', 'plums'],
];

const answer = {
  step: 4,
  isWhole: true,
  view: {
    step: 4,
    producer: 'test',
    declared: {},
    prompts: [0, 1, 2, 3].map((index) => ({
      index,
      completions: index < 3 ? 2 : 0,
      text: `Which fruit? ${index}`,
    })),
    completions: ROWS.map(
      ([prompt, total, advantage, finish, text], index): Completion => ({
        name: `${prompt}.${index % 2}`,
        index,
        prompt,
        advantage,
        finish,
        text,
        ...(total !== undefined && { total, rewards: { right: total } }),
      }),
    ),
    sample: {},
    scoring: {},
    rewards: [{ name: 'right', mean: 0.2 }],
    updates: [],
    stages: [],
  },
  parts: [],
  rules: [],
  failures: [{ reward: 'right', completion: 4, reason: 'no number' }],
  shared: new Int32Array(4),
  replayed: Int32Array.of(0, 3, 0, 0),
} as StepAnswer;
const { completions, prompts } = answer.view;
const columns = columnsOf(answer, completions);

const shown = (query: Record<string, string>) =>
  selectCompletions(answer, completions, columns, selectionOf(query)).map(({ index }) => index);
const groups = (query: Record<string, string>) => {
  const selection = selectionOf(query);
  const selected = selectCompletions(answer, completions, columns, selection);
  return groupsOf(prompts, completions, selected, selection).map(({ prompt }) => prompt.index);
};

describe('the completions that are shown', () => {
  it('are all, in their order, where nothing is chosen', () => {
    expect(shown({})).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('are sorted by any column, NaN last in both directions', () => {
    expect(shown({ sort: 'reward' })).toEqual([5, 2, 3, 0, 1, 4]);
    expect(shown({ sort: '-reward' })).toEqual([1, 0, 2, 3, 5, 4]);
    expect(shown({ sort: 'finish' })).toEqual([5, 1, 0, 2, 3, 4]);
    expect(shown({ sort: 'no such column' })).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('are within a range of rewards, which NaN is not', () => {
    expect(shown({ least: '0.2' })).toEqual([0, 1, 2, 3]);
    expect(shown({ least: '0.2', most: '0.6' })).toEqual([0, 2, 3]);
    expect(shown({ most: '0' })).toEqual([5]);
    expect(shown({ least: 'x' })).toHaveLength(6);
  });

  it('ended as was chosen', () => {
    expect(shown({ finish: 'length' })).toEqual([1]);
    expect(shown({ finish: 'eos?' })).toEqual([5]);
  });

  it('are of groups with signal, without, with a failure, or replayed', () => {
    expect(shown({ groups: 'signal' })).toEqual([0, 1, 4, 5]);
    expect(shown({ groups: 'flat' })).toEqual([2, 3]);
    expect(shown({ groups: 'failed' })).toEqual([4, 5]);
    expect(shown({ groups: 'replayed' })).toEqual([2, 3]);
    expect(shown({ groups: 'constructor' })).toHaveLength(6);
  });

  it('contain the words of a search as they stand, in completion or prompt', () => {
    expect(shown({ search: 'apples' })).toEqual([0, 1]);
    expect(shown({ search: '(ripe)' })).toEqual([3]);
    expect(shown({ search: '.' })).toEqual([]);
    expect(shown({ search: 'fruit? 2' })).toEqual([4, 5]);
  });
});

describe('groups', () => {
  it('come in the order of their first completion; those without completions stay while nothing is filtered', () => {
    expect(groups({})).toEqual([0, 1, 2, 3]);
    expect(groups({ sort: '-advantage' })).toEqual([0, 2, 1, 3]);
    expect(groups({ sort: 'reward' })).toEqual([2, 1, 0, 3]);
    expect(groups({ search: 'pear' })).toEqual([1]);
  });

  it('have signal by their advantages, or else by their rewards', () => {
    const of = (...rows: Partial<Completion>[]) => hasSignal(rows as Completion[]);
    expect(of({ advantage: 0, total: 1 }, { advantage: 0, total: 2 })).toBe(false);
    expect(of({ advantage: 0.5, total: 1 }, { advantage: 0.5, total: 1 })).toBe(true);
    expect(of({ total: 1 }, { total: 2 })).toBe(true);
    expect(of({ total: 1 }, { total: 1 })).toBe(false);
    expect(of({ total: Number.NaN })).toBe(undefined);
    expect(of({})).toBe(undefined);
  });
});

describe('columns', () => {
  it('are those that a completion has', () => {
    expect(columns.map(({ key }) => key)).toEqual(['name', 'reward', 'advantage', 'finish', 'text']);
  });
});
