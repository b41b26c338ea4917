import { describe, expect, it } from 'vitest';
import { totals } from '../../rewards/reward-table.js';
import { scoreCompletions } from '../../rewards/score.js';
import { SOLVED_GRIDS } from './grids.js';
import { EMPTY } from './puzzle.js';
import { sudokuTask } from './task.js';

/** Rows, columns and boxes of a grid, each as its digits. */
function unitsOf(grid: string): string[] {
  const rows = [0, 4, 8, 12].map((start) => grid.slice(start, start + 4));
  const columns = [0, 1, 2, 3].map((c) => rows.map((row) => row[c]).join(''));
  const boxes = [0, 2].flatMap((r) =>
    [0, 2].map((c) => rows[r]!.slice(c, c + 2) + rows[r + 1]!.slice(c, c + 2)),
  );
  return [...rows, ...columns, ...boxes];
}
const isSolved = (grid: string) => unitsOf(grid).every((unit) => [...unit].sort().join('') === '1234');

/** Digits that a search finds for the empty cells, without the list of grids. */
function solutionsOf(puzzle: string): string[] {
  const cell = puzzle.indexOf(EMPTY);
  if (cell < 0) return isSolved(puzzle) ? [puzzle] : [];
  return ['1', '2', '3', '4'].flatMap((digit) => {
    const filled = puzzle.slice(0, cell) + digit + puzzle.slice(cell + 1);
    const repeats = unitsOf(filled).some((unit) => {
      const digits = [...unit].filter((c) => c !== EMPTY);
      return new Set(digits).size < digits.length;
    });
    return repeats ? [] : solutionsOf(filled);
  });
}

describe('sudokuTask', () => {
  it('knows all solved grids: 288', () => {
    // OEIS A107739: the number of 4 × 4 sudokus.
    expect(new Set(SOLVED_GRIDS).size).toBe(288);
    expect(SOLVED_GRIDS.every(isSolved)).toBe(true);
  });

  it('makes different puzzles that have one solution each, and demonstrates it', () => {
    const task = sudokuTask({ trainSize: 150, evalSize: 50 });
    const problems = [...task.train, ...task.eval];
    expect([task.train.length, task.eval.length]).toEqual([150, 50]);
    expect(new Set(problems.map(({ prompt }) => prompt)).size).toBe(200);
    const empty = problems.map(({ row }) => [...row.puzzle].filter((cell) => cell === EMPTY).length);
    expect([Math.min(...empty), Math.max(...empty)]).toEqual([4, 6]);
    for (const { prompt, row, demonstration } of problems) {
      expect(prompt).toBe(`${row.puzzle}=`);
      expect(solutionsOf(row.puzzle)).toEqual([row.solution]);
      expect(task.isCorrect!(demonstration!, row)).toBe(true);
    }
  });

  it('slips in the asked share of demonstrations, never in a held-out problem, a given cell or the row', () => {
    const task = sudokuTask({ slips: 0.3, trainSize: 1500, evalSize: 50 });
    const wrong = task.train.filter(({ row, demonstration }) => demonstration !== row.solution);
    // Five standard errors.
    expect(Math.abs(wrong.length / 1500 - 0.3)).toBeLessThan(5 * Math.sqrt((0.3 * 0.7) / 1500));
    for (const { row, demonstration } of wrong) {
      const next = [...row.puzzle].map((given, cell) =>
        given === EMPTY ? String((Number(row.solution[cell]) % 4) + 1) : given,
      );
      expect(demonstration).toBe(next.join(''));
    }
    expect(task.train.slice(0, 50).every(({ row }) => solutionsOf(row.puzzle)[0] === row.solution)).toBe(
      true,
    );
    expect(task.eval.every(({ row, demonstration }) => demonstration === row.solution)).toBe(true);
  });

  it('follows the seed in training only: the held-out problems stay', () => {
    const [a, again, b] = [1, 1, 2].map((seed) => sudokuTask({ seed, trainSize: 30 }));
    expect(again!.train).toEqual(a!.train);
    expect(b!.train).not.toEqual(a!.train);
    expect(b!.eval).toEqual(a!.eval);
  });

  it('rewards the share of empty cells that are right, and a whole solution once more', async () => {
    const { rewards } = sudokuTask({ trainSize: 1, evalSize: 1 });
    // Worked by hand: seven cells are empty, nine are given.
    const row = { puzzle: '12..34..21434...', solution: '1234341221434321' };
    const completions: [completion: string, total: number, rule: string][] = [
      [row.solution, 2, 'solved'],
      [`\n${row.solution} `, 2, 'solved'],
      ['1243341221434321', 5 / 7, 'a cell is filled wrongly'],
      ['2234341221434321', 0, 'a given cell is changed'],
      [row.puzzle, 0, 'not 16 digits from 1 to 4'],
      [row.solution.slice(1), 0, 'not 16 digits from 1 to 4'],
      [row.solution + row.solution, 0, 'not 16 digits from 1 to 4'],
      ['', 0, 'not 16 digits from 1 to 4'],
    ];
    const texts = completions.map(([text]) => text);
    const batch = { prompts: texts.map(() => ''), completions: texts, rows: texts.map(() => row) };
    const table = await scoreCompletions(rewards, batch, { onError: 'stop' });
    expect(table.names).toEqual(['cells', 'solved']);
    expect([...totals(table)]).toEqual(completions.map(([, total]) => total));
    const verdicts = await rewards[0]!.score(batch);
    expect(verdicts).toMatchObject(completions.map(([, , rule]) => ({ rule })));
    expect(verdicts[3]).toMatchObject({ parts: { cells: 1, given: 8 / 9 } });
  });

  it('refuses problems that would take long to draw', () => {
    expect(() => sudokuTask({ evalSize: 50_000 })).toThrow(
      'sudoku makes at most 50000 problems, 56000 were asked for',
    );
  });
});
