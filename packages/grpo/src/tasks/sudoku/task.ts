/**
 * Sudokus of 4 × 4 cells: `12.4.4122.43.321=` asks, `1234341221434321` answers. Nothing is downloaded, every answer has
 * 16 characters, and a wrong one is worth the share of its cells that are right.
 */
import { UserError } from '../../errors/user-error.js';
import { uniform } from '../../maths/random.js';
import type { Problem, Task } from '../task.js';
import { gradeSudoku } from './grade.js';
import { drawPuzzle, EMPTY, type SudokuRow } from './puzzle.js';

/** How many problems, and which. */
export interface SudokuOptions {
  /** Draws the training problems; the held-out problems are the same for every seed. */
  seed: number;
  trainSize: number;
  evalSize: number;
  /** Share of the demonstrations that fill the empty cells with the next digit each, for a careless teacher: 0 to 1. */
  slips: number;
}

/** Keys of the random streams: of the held-out problems, the training problems and the slips. */
const EVAL = 0;
const TRAIN = 1;
const SLIP = 2;

/** The held-out problems do not follow the seed, or one run's could be trained on in another with its model. */
const EVAL_SEED = 0x5eed;

/** What a careless teacher writes in place of a digit. */
const NEXT_DIGIT: Readonly<Record<string, string>> = { 1: '2', 2: '3', 3: '4', 4: '1' };

/** There are millions; more than this take long to draw. */
const MOST_PROBLEMS = 50_000;

/**
 * Makes the task. No puzzle occurs twice, and none of the held-out ones is trained on.
 *
 * @throws UserError when too many problems are asked for
 */
export function sudokuTask(options: Partial<SudokuOptions> = {}): Task<SudokuRow> {
  const { seed = 0, trainSize = 6000, evalSize = 200, slips = 0 } = options;
  if (trainSize + evalSize > MOST_PROBLEMS) {
    throw new UserError(
      `sudoku makes at most ${MOST_PROBLEMS} problems, ${trainSize + evalSize} were asked for`,
      {
        hint: 'Set a lower task.evalSize.',
      },
    );
  }
  const used = new Set<string>();
  const held = draw(evalSize, EVAL_SEED, EVAL, used);
  const trained = draw(trainSize, seed, TRAIN, used);
  return {
    name: 'sudoku',
    train: trained.map((row, i) => problem(row, uniform(seed, SLIP, i) < slips)),
    eval: held.map((row) => problem(row)),
    rewards: [
      {
        name: 'cells',
        weight: 1,
        score: ({ completions, rows }) =>
          completions.map((text, i) => {
            const { value, parts, rule } = gradeSudoku(text, rows[i]!);
            return { value, parts, rule };
          }),
      },
      {
        name: 'solved',
        weight: 1,
        score: ({ completions, rows }) =>
          completions.map((text, i) => Number(gradeSudoku(text, rows[i]!).solved)),
      },
    ],
    isCorrect: (completion, row) => gradeSudoku(completion, row).solved,
    // Demonstrations have slips.
    canaries: ({ row }) => ({ gold: row.solution }),
    stop: [],
  };
}

function problem(row: SudokuRow, slips = false): Problem<SudokuRow> {
  const { puzzle, solution } = row;
  const digits = [...solution].map((digit, cell) =>
    slips && puzzle[cell] === EMPTY ? NEXT_DIGIT[digit] : digit,
  );
  return { prompt: `${puzzle}=`, row, demonstration: digits.join('') };
}

/** `count` puzzles that are not in `used` yet, and puts them there. */
function draw(count: number, seed: number, stream: number, used: Set<string>): SudokuRow[] {
  const rows: SudokuRow[] = [];
  for (let attempt = 0; rows.length < count; attempt++) {
    const row = drawPuzzle(seed, stream, attempt);
    if (used.has(row.puzzle)) continue;
    used.add(row.puzzle);
    rows.push(row);
  }
  return rows;
}
