/** The three parts of a P reward with an engine: best move, candidates, and their evaluations. */
import type { Analyst, Line } from './engine/analysis.js';
import type { Position } from './position.js';

/** Rewards by the rank of the best move among the engine's. */
const RANKS = [1, 0.8, 0.6, 0.4, 0.2] as const;
const ILLEGAL = -0.3;

/** Scores the best move, from −1 for an illegal move to 1 for the engine's first. */
export function scoreBest(
  move: string | undefined,
  top: readonly Line[],
  position: Position,
): { value: number; rule: string } {
  if (move === undefined) return { value: -0.5, rule: 'no best move' };
  if (top.length === 0) return { value: -0.5, rule: 'the game is over' };
  if (!position.isLegal(move)) return { value: -1, rule: 'an illegal best move' };
  const rank = top.findIndex((line) => line.move === move);
  return rank >= 0 && rank < RANKS.length
    ? { value: RANKS[rank]!, rule: `the engine's move ${rank + 1}` }
    : { value: 0.1, rule: "a legal move, none of the engine's" };
}

/** Overlap of two sets of moves, a bonus for the right order, and a malus for illegal moves: −1.5 to 1. */
export function scoreCandidates(moves: readonly string[], top: readonly Line[], position: Position): number {
  if (moves.length === 0) return -0.3;
  if (top.length === 0) return 0;
  const legal = moves.filter((move) => position.isLegal(move));
  const malus = ILLEGAL * (moves.length - legal.length);
  if (legal.length === 0) return malus;
  const best = top.slice(0, 5).map(({ move }) => move);
  const shared = new Set(legal.filter((move) => best.includes(move))).size;
  const overlap = shared / new Set([...legal, ...best]).size;
  const order = legal
    .slice(0, 3)
    .reduce((sum, move, i) => sum + (move === best[i] ? (0.1 * (3 - i)) / 3 : 0), 0);
  return Math.max(-1, Math.min(1, overlap + order + malus));
}

/**
 * 1 less the mean error in pawns, at least 0, and 0.4 less for each value of the wrong sign where it matters. The truth
 * is the engine's view of the position after the move. From −1 to 1.
 */
export async function scoreEvaluations(
  { moves, evaluations }: { moves: readonly string[]; evaluations: readonly number[] },
  position: Position,
  analyst: Analyst,
): Promise<number> {
  if (moves.length === 0 || evaluations.length === 0) return -0.2;
  if (moves.length !== evaluations.length) return -0.4;
  const after = moves.map((move) => position.after(move));
  if (after.includes(undefined)) return -0.5;
  const truths = await Promise.all(after.map(async (fen) => -(await analyst.value(fen!)) / 100));
  const error = truths.reduce((sum, truth, i) => sum + Math.abs(evaluations[i]! - truth), 0) / truths.length;
  const wrongSigns = truths.filter(
    (truth, i) => Math.abs(truth) > 0.2 && Math.sign(truth) !== Math.sign(evaluations[i]!),
  ).length;
  return Math.max(-1, Math.max(0, 1 - error) - 0.4 * wrongSigns);
}
