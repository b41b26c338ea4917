import { permutation, uniform } from '../../maths/random.js';
import { CELLS, SOLVED_GRIDS } from './grids.js';

/** An empty cell of a puzzle. */
export const EMPTY = '.';

/** A puzzle that has exactly one solution. */
export interface SudokuRow {
  /** 16 cells, row after row; those to be filled are {@link EMPTY}. */
  puzzle: string;
  /** Its solution: 16 digits. */
  solution: string;
}

/** Empty cells of a puzzle, where its solution allows as many. */
const [FEWEST, MOST] = [4, 6];

/** The puzzle of a seed and keys: cells of a solved grid are emptied in random order while the solution stays unique. */
export function drawPuzzle(seed: number, ...keys: number[]): SudokuRow {
  const random = (draw: number) => uniform(seed, ...keys, draw);
  const solution = SOLVED_GRIDS[Math.floor(random(0) * SOLVED_GRIDS.length)]!;
  const emptied = FEWEST + Math.floor(random(1) * (MOST - FEWEST + 1));
  const puzzle = [...solution];
  let empty = 0;
  for (const cell of permutation(CELLS, seed, ...keys)) {
    if (empty === emptied) break;
    puzzle[cell] = EMPTY;
    if (hasOneSolution(puzzle)) empty++;
    else puzzle[cell] = solution[cell]!;
  }
  return { puzzle: puzzle.join(''), solution };
}

function hasOneSolution(puzzle: readonly string[]): boolean {
  const given = puzzle.flatMap((digit, cell) => (digit === EMPTY ? [] : [{ digit, cell }]));
  let found = 0;
  for (const grid of SOLVED_GRIDS) {
    if (given.every(({ digit, cell }) => grid[cell] === digit) && ++found > 1) return false;
  }
  return found === 1;
}
