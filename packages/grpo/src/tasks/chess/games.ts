/** Random legal games, and the A rows that they make. */
import { uniform } from '../../maths/random.js';
import type { Outcome } from './grammar.js';
import { Position } from './position.js';

/** Reward of an A row when the game goes on, as in RookWorld. */
const GOES_ON = 0.001;

/** One move of a game. */
export interface Ply {
  /** Before the move. */
  fen: string;
  move: string;
  /** The moves before it in its game. */
  history: readonly string[];
  outcome: Outcome;
}

/** The moves of a game, each drawn evenly from the legal ones, until the game ends or has `plies` of them. */
export function* randomGame(game: number, { seed, plies }: { seed: number; plies: number }): Generator<Ply> {
  const position = Position.start();
  const history: string[] = [];
  for (let ply = 0; ply < plies; ply++) {
    const { fen } = position;
    const move = position.playOne((count) => Math.floor(uniform(seed, game, ply) * count));
    const ending = position.ending();
    const reward = ending === undefined ? GOES_ON : ending === 'checkmate' ? 1 : 0.5;
    const outcome = { fen: position.fen, reward, terminated: ending !== undefined, truncated: false };
    yield { fen, move, history: [...history], outcome };
    if (ending !== undefined) return;
    history.push(move);
  }
}
