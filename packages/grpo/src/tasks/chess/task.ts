/** Chess as RookWorld asks it. Rows are `{"text": "…"}`, P and A mixed; the grammar is in `grammar.ts`. */

import { each } from '../../rewards/each.js';
import { type ProblemFiles, readSplit } from '../split.js';
import type { Problem, Task } from '../task.js';
import { everyMove } from './canaries.js';
import { ChessEngine } from './engine/engine.js';
import { findEngine } from './engine/find.js';
import { expectedFen, predictedFen } from './environment.js';
import { findPolicy, policyPosition } from './policy.js';
import { scoreChess } from './reward.js';
import { type ChessRow, readChessRows } from './row.js';

export interface ChessOptions extends ProblemFiles {
  /** Path or name of a UCI engine, see {@link findEngine}; without one P completions are scored by their form only. */
  engine?: string | undefined;
}

/**
 * Loads the task; what is held out, see {@link readSplit}. Disposing ends its engine.
 *
 * @throws FormatError naming file and line for a row that is neither P nor A; FileError; UserError for the engine
 */
export async function chessTask(options: ChessOptions): Promise<Task<ChessRow> & Disposable> {
  const path = options.engine === undefined ? undefined : findEngine(options.engine);
  const { train, held } = await readSplit(options, readChessRows, ({ prompt }) => prompt);
  const engine = path === undefined ? undefined : new ChessEngine(path);
  return {
    name: 'chess',
    train: train.map(problemOf),
    eval: held.map(problemOf),
    rewards: [
      {
        name: 'chess',
        weight: 1,
        score: each((completion, { prompt }: ChessRow) => scoreChess(prompt, completion, engine)),
      },
    ],
    isCorrect: isCorrectChess,
    canaries: ({ row }) => everyMove(row),
    stop: [],
    [Symbol.dispose]: () => engine?.[Symbol.dispose](),
  };
}

/**
 * A: the position that the move leads to, whatever follows it. P: a best move that is legal and one of the row's own
 * moves, where it has some.
 */
export function isCorrectChess(completion: string, { kind, prompt, completion: label }: ChessRow): boolean {
  if (kind === 'A') return predictedFen(completion) === expectedFen(prompt);
  const { best } = findPolicy(completion);
  if (best === undefined || !policyPosition(prompt)?.isLegal(best)) return false;
  return label === undefined || findPolicy(label).moves.includes(best);
}

const problemOf = (row: ChessRow): Problem<ChessRow> => ({
  prompt: row.prompt,
  row,
  ...(row.completion !== undefined && { demonstration: row.completion }),
});
