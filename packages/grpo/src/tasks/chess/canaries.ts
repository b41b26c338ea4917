import { findPolicy } from './policy.js';
import { Position } from './position.js';
import type { ChessRow } from './row.js';

/**
 * A completion with every legal move in it: as best move and as candidate, or as what may have been played. The row's own
 * are not the first, since of several the first counts.
 */
export function everyMove({ kind, prompt, completion = '' }: ChessRow): { options?: string } {
  const [fen, played = ''] = prompt.slice(3).split('+') as [string, string?];
  const position = Position.read(fen.trimEnd());
  if (typeof position === 'string') return {};
  const stated = kind === 'P' ? findPolicy(completion).moves : [played];
  const others = position.moves.filter((move) => !stated.includes(move));
  if (others.length === 0) return {};
  const moves = [others[0]!, ...stated, ...others.slice(1)];
  const values = moves.map(() => '0.00').join(' ');
  const all = moves.join(' ');
  if (kind === 'P') return { options: `   M: ${all}   E: ${values}   B: ${all}` };
  return { options: `${moves.map((move) => position.after(move)).join(' ')}+0.001+0+0` };
}
