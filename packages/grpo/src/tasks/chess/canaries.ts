import { Position } from '../../rewards/chess/position.js';
import type { ChessRow } from './task.js';

/** A completion with every legal move in it: as best move and as candidate, or as what may have been played. */
export function everyMove({ kind, prompt }: ChessRow): { options?: string } {
  const [fen] = prompt.slice(3).split('+') as [string];
  const position = Position.read(fen.trimEnd());
  if (typeof position === 'string') return {};
  const { moves } = position;
  const values = moves.map(() => '0.00').join(' ');
  const all = moves.join(' ');
  if (kind === 'P') return { options: `   M: ${all}   E: ${values}   B: ${all}` };
  return { options: `${moves.map((move) => position.after(move)).join(' ')}+0.001+0+0` };
}
