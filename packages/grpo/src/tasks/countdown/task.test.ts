import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { totals } from '../../rewards/reward-table.js';
import { scoreCompletions } from '../../rewards/score.js';
import { countdownRow } from './generate.js';
import { gradeCountdown } from './grade.js';
import { countdownTask } from './task.js';

function file(...rows: unknown[]): string {
  const path = join(tempFolder(), 'countdown.jsonl');
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return path;
}
const load = (...rows: unknown[]) => countdownTask({ data: file(...rows), evalSize: 0 });

const ROW = { nums: [3, 5, 7], target: 36, solution: '3 * (5 + 7)' };

describe('countdownTask', () => {
  it('asks, demonstrates, and rewards format and answer with the rule that decided', async () => {
    const task = await load(ROW);
    const { prompt, demonstration, row } = task.train[0]!;
    expect(prompt).toMatch(
      /Problem: Use each of the numbers 3, 5 and 7 exactly once to make 36\.\n\nSolution: <think>$/,
    );
    expect(demonstration).toBe('5+7=12; 3*12=36</think> <answer>3 * (5 + 7)</answer>');
    const completions = [
      demonstration!,
      'so</think> <answer>3 + 5 + 7</answer>',
      'so</think> <answer>36</answer>',
      '3 * (5 + 7)',
    ];
    const batch = { prompts: completions.map(() => prompt), completions, rows: completions.map(() => row) };
    const table = await scoreCompletions(task.rewards, batch, { onError: 'stop' });
    expect([...totals(table)]).toEqual([1.1, 0.1, 0.1, 0]);
    expect(await task.rewards[0]!.score(batch)).toEqual([
      { value: 1, rule: 'makes the target', parts: { numbers: 1, target: 1 } },
      { value: 0, rule: 'another value', parts: { numbers: 1, target: 0 } },
      { value: 0, rule: 'a number that is not given', parts: { numbers: 0, target: 1 } },
      { value: 0, rule: 'no </think>' },
    ]);
    expect(completions.map((text) => task.isCorrect!(text, row))).toEqual([true, false, false, false]);
  });

  it('holds out no problem that is trained on in another order', async () => {
    const data = file(ROW, { ...ROW, nums: [7, 3, 5] }, { nums: [1, 2], target: 3 });
    const task = await countdownTask({ data, evalSize: 1 });
    expect([task.train.length, task.eval.length].sort()).toEqual(
      task.eval[0]!.row.target === 3 ? [1, 2] : [1, 1],
    );
    const evalData = file({ ...ROW, nums: [7, 5, 3] });
    await expect(countdownTask({ data, evalData, evalSize: 1 })).rejects.toThrow('2 questions are also in');
  });

  it.each([
    [
      { numbers: [1, 2], target: 3 },
      'no key "nums"; the row has numbers, target; grpo data convert renames keys',
    ],
    [{ nums: [1, 2] }, 'no key "target"; the row has nums'],
    [{ nums: [1], target: 1 }, 'nums must be 2 to 20 whole numbers >= 0, found [1]'],
    [{ nums: [1, -2], target: 1 }, 'nums must be 2 to 20 whole numbers >= 0'],
    [{ nums: '1 2', target: 1 }, 'nums must be 2 to 20 whole numbers >= 0, found "1 2"'],
    [{ nums: [1, 2], target: 1.5 }, 'target must be a whole number, found 1.5'],
    [{ ...ROW, solution: '3 * 5 + 7' }, 'solution "3 * 5 + 7" is not a valid expression: another value'],
  ])('refuses %j with its line', async (row, message) => {
    await expect(load(ROW, row)).rejects.toThrow(new RegExp(`countdown\\.jsonl:2: ${escaped(message)}`));
  });
});

const escaped = (text: string) => text.replace(/[[\]().*+?$^|\\]/g, '\\$&');

describe('countdownRow', () => {
  it('is solvable, and the same for a seed', () => {
    const rows = Array.from({ length: 300 }, (_, i) => countdownRow(1, i));
    for (const row of rows) expect(gradeCountdown(row.solution, row)).toMatchObject({ correct: true });
    expect(countdownRow(1, 7)).toEqual(rows[7]);
    expect(countdownRow(2, 7)).not.toEqual(rows[7]);
    expect(new Set(rows.map(({ nums }) => nums.length))).toEqual(new Set([3, 4]));
    expect(Math.max(...rows.map(({ target }) => target))).toBeGreaterThan(500);
    expect(rows.some(({ solution }) => solution.includes('/'))).toBe(true);
  });
});
