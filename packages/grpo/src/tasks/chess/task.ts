/** Chess as RookWorld asks it. Rows are `{"text": "…"}`, P and A mixed; the grammar is in `rewards/chess/grammar.ts`. */
import { FormatError } from '../../errors/format-error.js';
import { shown } from '../../formats/json.js';
import { type Row, readRows } from '../../formats/rows.js';
import { ChessEngine } from '../../rewards/chess/engine/engine.js';
import { findEngine } from '../../rewards/chess/engine/find.js';
import { expectedFen, predictedFen } from '../../rewards/chess/environment.js';
import { GrammarError, type SplitRow, splitRow } from '../../rewards/chess/grammar.js';
import { scoreChess } from '../../rewards/chess/index.js';
import { findPolicy, policyPosition } from '../../rewards/chess/policy.js';
import { Position } from '../../rewards/chess/position.js';
import { each } from '../../rewards/each.js';
import { keysOf } from '../jsonl-row.js';
import { type ProblemFiles, readSplit } from '../split.js';
import type { Problem, Task } from '../task.js';
import { everyMove } from './canaries.js';

/** A row of the file, split. */
export interface ChessRow extends SplitRow {
  /** For `kl.kindKey` and the metrics: the two kinds have different rewards. */
  kind: 'P' | 'A';
}

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

async function readChessRows(path: string): Promise<ChessRow[]> {
  return (await readRows(path)).map(({ line, value }) => {
    try {
      return chessRow(value);
    } catch (error) {
      if (!(error instanceof GrammarError)) throw error;
      throw new FormatError(path, error.message, { line, cause: error });
    }
  });
}

/** @throws GrammarError */
function chessRow(value: Row): ChessRow {
  // Files of prompts alone call them so.
  const text = value.text ?? value.prompt;
  if (text === undefined) {
    throw new GrammarError(`no key "text", a P or A row; the row has ${keysOf(value)}`);
  }
  if (typeof text !== 'string') throw new GrammarError(`text must be a string, found ${shown(text)}`);
  const row = splitRow(text);
  const kind = row.prompt.startsWith('P') ? 'P' : 'A';
  const [fen] = row.prompt.slice(3).split('+') as [string];
  const position = Position.read(fen);
  if (typeof position === 'string') throw new GrammarError(`the position ${fen} is impossible: ${position}`);
  return { kind, ...row };
}
