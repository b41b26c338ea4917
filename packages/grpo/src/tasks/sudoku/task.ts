/**
 * Sudokus of 4 × 4 cells: `.3.124..1…=` asks, `4321…` answers with the whole grid. Nothing is downloaded, every answer has
 * 16 characters, and a wrong one is worth the share of its cells that are right.
 */
import { UserError } from '../../errors/user-error.js';
import type { Problem, Task } from '../task.js';
import { gradeSudoku } from './grade.js';
import { drawPuzzle, type SudokuRow } from './puzzle.js';

/** How many problems, and which. */
export interface SudokuOptions {
  /** Draws the training problems; the held-out problems are the same for every seed. */
  seed: number;
  trainSize: number;
  evalSize: number;
}

/** Keys of the random streams. */
const EVAL = 0;
const TRAIN = 1;

/** The held-out problems do not follow the seed, or one run's could be trained on in another with its model. */
const EVAL_SEED = 0x5eed;

/** There are millions; more than this take long to draw. */
const MOST_PROBLEMS = 50_000;

/**
 * Makes the task. No puzzle occurs twice, and none of the held-out ones is trained on.
 *
 * @throws UserError when too many problems are asked for
 */
export function sudokuTask(options: Partial<SudokuOptions> = {}): Task<SudokuRow> {
  const { seed = 0, trainSize = 6000, evalSize = 200 } = options;
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
  return {
    name: 'sudoku',
    train: draw(trainSize, seed, TRAIN, used),
    eval: held,
    rewards: [
      {
        name: 'cells',
        weight: 1,
        score: ({ completions, rows }) =>
          completions.map((text, i) => {
            const { parts, rule } = gradeSudoku(text, rows[i]!);
            return { value: parts.cells, parts, rule };
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
    stop: [],
  };
}

/** `count` problems whose puzzles are not in `used` yet, and puts them there. */
function draw(count: number, seed: number, stream: number, used: Set<string>): Problem<SudokuRow>[] {
  const problems: Problem<SudokuRow>[] = [];
  for (let attempt = 0; problems.length < count; attempt++) {
    const row = drawPuzzle(seed, stream, attempt);
    if (used.has(row.puzzle)) continue;
    used.add(row.puzzle);
    problems.push({ prompt: `${row.puzzle}=`, row, demonstration: row.solution });
  }
  return problems;
}
