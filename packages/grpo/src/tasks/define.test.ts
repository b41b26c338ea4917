import { describe, expect, it } from 'vitest';
import { scoreCompletions, totals } from '../rewards/index.js';
import type { Message } from '../text/message.js';
import { defineTask, type TaskDefinition } from './define.js';

interface Sum {
  a: number;
  b: number;
}
const rows: Sum[] = Array.from({ length: 30 }, (_, i) => ({ a: i, b: 2 * i }));
const sums: TaskDefinition<Sum> = {
  name: 'sums',
  rows,
  prompt: (row) => `${row.a}+${row.b}=`,
  rewards: { right: (completion, row) => Number(completion === String(row.a + row.b)) },
};

/** Prompts of a task's problems. */
const asked = (problems: readonly { prompt: unknown }[]) => problems.map(({ prompt }) => prompt);

describe('a task in code', () => {
  it('takes the type of a row from its rows', () => {
    const task = defineTask({
      name: 'typed',
      rows: [
        { word: 'a', length: 1 },
        { word: 'bb', length: 2 },
      ],
      // @ts-expect-error there is no such column
      prompt: (row) => `${row.word}${row.lenght}`,
      rewards: {
        // @ts-expect-error text is no reward
        text: (completion, row) => completion + row.word,
        each: { each: (completion, row) => completion.length - row.length },
        // @ts-expect-error a column is no number
        batch: { batch: ({ rows }) => rows.map(({ word }) => word) },
      },
    });
    const lengths: number[] = task.train.map(({ row }) => row.length);
    expect(lengths).toHaveLength(1);
  });

  it('may have rows of any type, and asks in messages', () => {
    const task = defineTask({
      name: 'words',
      rows: ['one', 'two'],
      prompt: (row): Message[] => [{ role: 'user', content: row }],
      rewards: {},
    });
    expect(asked([...task.train, ...task.eval]).flat()).toContainEqual({ role: 'user', content: 'one' });
  });

  it('holds out a fifth of its rows, the same ones each time', () => {
    const [task, again] = [defineTask(sums), defineTask(sums)];
    expect([task.train.length, task.eval.length]).toEqual([24, 6]);
    expect(asked(again.eval)).toEqual(asked(task.eval));
    expect(asked(task.train)).not.toEqual(expect.arrayContaining([task.eval[0]!.prompt]));
    expect(asked(task.eval)).not.toEqual(rows.slice(0, 6).map(sums.prompt));
    expect(defineTask({ ...sums, evalSize: 2 }).eval).toHaveLength(2);
    const many = Array.from({ length: 2000 }, (_, i) => ({ a: i, b: 0 }));
    expect(defineTask({ ...sums, rows: many }).eval).toHaveLength(200);
  });

  it('trains on no copy of what it holds out', () => {
    const task = defineTask({ ...sums, rows: [...rows, ...rows], evalSize: 20 });
    const held = new Set(asked(task.eval));
    expect(asked(task.train).some((prompt) => held.has(prompt))).toBe(false);
    expect(task.train.length).toBeLessThan(40);
    expect(() => defineTask({ ...sums, evalRows: [{ a: 3, b: 6 }] })).toThrow(
      'task sums: 1 of the rows ask the same as a row of evalRows, such as "\\"3+6=\\""',
    );
    const apart = defineTask({ ...sums, evalRows: [{ a: 3, b: 7 }] });
    expect([apart.train.length, asked(apart.eval)]).toEqual([30, ['3+7=']]);
  });

  it('scores each completion or the batch, and blames the completion', async () => {
    const { rewards } = defineTask({
      ...sums,
      rewards: {
        ...sums.rewards,
        careful: {
          each: (completion) => {
            if (completion === '') throw new Error('nothing said');
            return 2;
          },
          weight: 0.5,
        },
        place: { batch: ({ completions }) => completions.map((_, i) => i), weight: 0 },
      },
    });
    const batch = {
      prompts: ['1+2=', '1+2='],
      completions: ['3', ''],
      rows: [
        { a: 1, b: 2 },
        { a: 1, b: 2 },
      ],
    };
    const table = await scoreCompletions(rewards, batch, { onError: 'drop' });
    expect(table.columns.map((column) => [...column])).toEqual([
      [1, 0],
      [2, Number.NaN],
      [0, 1],
    ]);
    expect([...totals(table)]).toEqual([2, Number.NaN]);
    expect(table.failures).toMatchObject([{ reward: 'careful', index: 1, affected: 1 }]);
  });

  it('shows demonstrations where there are some', () => {
    const { train } = defineTask({
      ...sums,
      demonstration: (row) => (row.a > 9 ? `${row.a + row.b}` : undefined),
    });
    expect(train.filter((problem) => 'demonstration' in problem).map(({ row }) => row.a > 9)).not.toContain(
      false,
    );
    expect(train.find(({ row }) => row.a > 9)?.demonstration).toMatch(/^\d+$/);
  });
});

describe('a definition is refused', () => {
  /** Defines a task without types, as a program in JavaScript may. */
  const defined = (changes: object) => () => defineTask({ ...sums, ...changes } as TaskDefinition<Sum>);

  it.each<[string, object, string]>([
    [
      'with an unknown option',
      { evalrows: [] },
      'defineTask() has no option evalrows. The nearest known one is evalRows.',
    ],
    [
      'without a name',
      { name: undefined },
      "a task's name is made of letters, digits, '.', '_' and '-', found 'undefined'",
    ],
    ['whose name is a path', { name: '../sums' }, "found '../sums'"],
    ['without rows', { rows: [] }, 'task sums: rows needs at least one row'],
    ['without held-out rows', { evalRows: [] }, 'task sums: evalRows needs at least one row'],
    [
      'that asks nothing',
      { prompt: () => undefined },
      'task sums: rows[0]: prompt returned undefined, expected text or',
    ],
    [
      'that asks emptily',
      { prompt: (row: Sum) => (row.a === 2 ? '' : 'x') },
      "rows[2]: prompt returned '', expected text or",
    ],
    [
      'with half a message',
      { prompt: () => [{ role: 'user' }] },
      "prompt returned [ { role: 'user' } ], expected text or",
    ],
    [
      'with an unknown role',
      { prompt: () => [{ role: 'me', content: 'x' }] },
      'expected text or [{ role, content }, …]',
    ],
    [
      'that shows a number',
      { demonstration: () => 1 },
      'rows[0]: demonstration returned 1, expected text or undefined',
    ],
    ['with an empty stop', { stop: [''] }, 'task sums: stop must be a list of non-empty strings'],
    ['with one stop', { stop: 'x' }, 'task sums: stop must be a list of non-empty strings'],
    ['that holds out nothing', { evalSize: 0 }, 'task sums: evalSize must be a whole number >= 1, found 0'],
    ['that holds out all', { evalSize: 30 }, 'task sums: holding out 30 of 30 rows leaves none to train on'],
    ['with a number as reward', { rewards: { r: 1 } }, 'task sums: the reward r is 1'],
    [
      'with two functions in a reward',
      { rewards: { r: { each: () => 1, batch: () => [] } } },
      'task sums: the reward r is {',
    ],
    [
      'with a reward without function',
      { rewards: { r: { weight: 1 } } },
      'task sums: the reward r is { weight: 1 }',
    ],
    [
      'with an impossible weight',
      { rewards: { r: { each: () => 1, weight: Number.NaN } } },
      'the weight of the reward r must be a number, found NaN',
    ],
  ])('%s', (_, changes, message) => {
    expect(defined(changes)).toThrow(message);
  });
});
