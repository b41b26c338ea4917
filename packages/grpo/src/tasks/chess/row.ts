import { FormatError } from '../../errors/format-error.js';
import { describeJson } from '../../formats/json.js';
import { type Row, readRows } from '../../formats/read-rows.js';
import { keysOf } from '../row-fields.js';
import { GrammarError, type SplitRow, splitRow } from './grammar.js';
import { Position } from './position.js';

/** A row of the file, split. */
export interface ChessRow extends SplitRow {
  /** For `kl.kindKey` and the metrics: the two kinds have different rewards. */
  kind: 'P' | 'A';
}

/** @throws FormatError naming file and line for a row that is neither P nor A; FileError */
export async function readChessRows(path: string): Promise<ChessRow[]> {
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
  if (typeof text !== 'string') throw new GrammarError(`text must be a string, found ${describeJson(text)}`);
  const row = splitRow(text);
  const kind = row.prompt.startsWith('P') ? 'P' : 'A';
  const [fen] = row.prompt.slice(3).split('+') as [string];
  const position = Position.read(fen);
  if (typeof position === 'string') throw new GrammarError(`the position ${fen} is impossible: ${position}`);
  return { kind, ...row };
}
