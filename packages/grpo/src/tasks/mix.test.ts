import { describe, expect, it } from 'vitest';
import { each } from '../rewards/each.js';
import { scoreCompletions } from '../rewards/score.js';
import { mixedTask } from './mix.js';
import type { Task } from './task.js';

const task = (name: string, size: number, more: Partial<Task> = {}): Task => ({
  name,
  train: Array.from({ length: size }, (_, i) => ({ prompt: `${name} ${i}`, row: { i } })),
  eval: Array.from({ length: size }, (_, i) => ({ prompt: `${name} held ${i}`, row: { i } })),
  rewards: [{ name: `of-${name}`, weight: 1, score: each((text) => text.length) }],
  isCorrect: (text) => text === name,
  stop: [],
  ...more,
});
const mix = (...tasks: Task[]) => mixedTask(tasks.map((own) => ({ task: own, share: 1 })));

describe('a mixture of tasks', () => {
  const { train, eval: held, rewards, isCorrect } = mix(task('fair', 2), task('true', 4));
  const batch = {
    prompts: train.map(({ prompt }) => prompt),
    completions: ['a', 'bb', 'ccc', 'dddd', 'eeeee', 'ffffff'],
    rows: train.map(({ row }) => row),
  };

  it('tells the task of each row, and lets held-out problems take turns', () => {
    expect(train.map(({ row }) => row.task)).toEqual(['fair', 'fair', 'true', 'true', 'true', 'true']);
    expect(held.map(({ row }) => row.task)).toEqual(['true', 'fair', 'true', 'true', 'fair', 'true']);
    expect(isCorrect!('fair', train[0]!.row)).toBe(true);
    expect(isCorrect!('fair', train[2]!.row)).toBe(false);
  });

  it('trains on nothing that another of its tasks holds out', () => {
    const shared = task('true', 4, { eval: [{ prompt: 'fair 1', row: { i: 1 } }] });
    const prompts = mix(task('fair', 2), shared).train.map(({ prompt }) => prompt);
    expect(prompts).toEqual(['fair 0', 'true 0', 'true 1', 'true 2', 'true 3']);
    expect(() => mix(task('fair', 1), { ...shared, eval: [{ prompt: 'fair 0', row: {} }] })).toThrow(
      'all 1 rows of fair ask what a held-out problem of the mixture asks',
    );
  });

  it('has each reward judge its own completions only', async () => {
    const { columns, names } = await scoreCompletions(rewards, batch, { onError: 'stop' });
    const no = Number.NaN;
    expect(names).toEqual(['of-fair', 'of-true']);
    expect(columns.map((column) => [...column])).toEqual([
      [1, 2, no, no, no, no],
      [no, no, 3, 4, 5, 6],
    ]);
  });

  it('names the completion on which a reward fails', async () => {
    const score = each((text) => {
      if (text === 'dddd') throw new Error('no d');
      return 1;
    });
    const { rewards: failing } = mix(
      task('fair', 2),
      task('true', 4, { rewards: [{ name: 'picky', weight: 1, score }] }),
    );
    const { failures, columns } = await scoreCompletions(failing, batch, { onError: 'drop' });
    expect(failures).toMatchObject([{ reward: 'picky', index: 3, reason: expect.stringContaining('no d') }]);
    expect(columns[1]).toEqual(Float64Array.of(Number.NaN, Number.NaN, 1, Number.NaN, 1, 1));
    const short = { name: 'short', weight: 1, score: () => [1] };
    const wrong = mix(task('fair', 2), task('true', 4, { rewards: [short] }));
    await expect(scoreCompletions(wrong.rewards, batch, { onError: 'stop' })).rejects.toThrow(
      /returned 1 value for 6/,
    );
  });

  it('tells rewards of one name apart by their task', () => {
    const same = { rewards: [{ name: 'answer', weight: 1, score: each(() => 1) }] };
    const { rewards: renamed } = mix(task('fair', 1, same), task('true', 1, same));
    expect(renamed.map(({ name }) => name)).toEqual(['fair/answer', 'true/answer']);
  });

  it.each([
    [[task('fair', 1), task('fair', 1)], /two tasks of the mixture have one name: fair,fair/],
    [
      [task('fair', 1), task('true', 1, { stop: ['.'] })],
      /end differently: fair at no string, true at \["\."\]/,
    ],
    [
      [task('fair', 1, { train: [{ prompt: 'p', row: { task: 'own' } }] }), task('true', 1)],
      /a row of fair has a field task/,
    ],
  ])('refuses what does not go together', (tasks, message) => {
    expect(() => mix(...tasks)).toThrow(message);
  });
});
