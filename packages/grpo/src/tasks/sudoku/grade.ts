import { CELLS } from './grids.js';
import { EMPTY, type SudokuRow } from './puzzle.js';

/** How an answer was graded. */
export interface SudokuGrade {
  /** Share of the empty cells that are filled rightly; 0 for the grid of another puzzle. */
  value: number;
  /** `cells`: share of the empty cells that are filled rightly; `given`: share of the given cells that are kept. */
  parts: { cells: number; given: number };
  solved: boolean;
  rule: 'solved' | 'not 16 digits from 1 to 4' | 'a given cell is changed' | 'a cell is filled wrongly';
}

const GRID = new RegExp(`^[1-4]{${CELLS}}$`);

/** Grades the text of a whole grid, row after row, with nothing but white space around it. */
export function gradeSudoku(text: string, { puzzle, solution }: SudokuRow): SudokuGrade {
  const grid = text.trim();
  if (!GRID.test(grid))
    return { value: 0, parts: { cells: 0, given: 0 }, solved: false, rule: 'not 16 digits from 1 to 4' };
  const shareOf = (cells: readonly number[]) =>
    cells.filter((cell) => grid[cell] === solution[cell]).length / cells.length;
  const cells = [...puzzle].map((_, cell) => cell);
  const parts = {
    cells: shareOf(cells.filter((cell) => puzzle[cell] === EMPTY)),
    given: shareOf(cells.filter((cell) => puzzle[cell] !== EMPTY)),
  };
  if (parts.given < 1) return { value: 0, parts, solved: false, rule: 'a given cell is changed' };
  return parts.cells < 1
    ? { value: parts.cells, parts, solved: false, rule: 'a cell is filled wrongly' }
    : { value: 1, parts, solved: true, rule: 'solved' };
}
