/** The lines of a UCI engine. */
import type { Line } from './analysis.js';

/** Centipawns of a mate in 0 moves; each move costs one. */
const MATE = 10_000;

/** A line about one of the best moves, or about a position without any. */
export interface Info {
  /** Rank among the best moves, from 1. */
  rank: number;
  /** Absent where the game is over. */
  move: string | undefined;
  centipawns: number;
}

/** Reads `info … multipv 2 score cp 31 … pv e2e4 …`; undefined for every other line, bounds included. */
export function parseInfo(text: string): Info | undefined {
  if (!text.startsWith('info ') || /\b(?:lower|upper)bound\b/.test(text)) return undefined;
  const score = /\bscore (cp|mate) (-?\d+)/.exec(text);
  if (!score) return undefined;
  const value = Number(score[2]);
  const rank = Number(/\bmultipv (\d+)/.exec(text)?.[1] ?? 1);
  const move = /\bpv ([a-h][1-8][a-h][1-8][qrbn]?)\b/.exec(text)?.[1];
  return { rank, move, centipawns: score[1] === 'cp' ? value : mateValue(value) };
}

/** "mate 0" is said by the side that has been mated. */
const mateValue = (moves: number) => (moves > 0 ? MATE - moves : -MATE - moves);

/** The last word about each rank, best first. */
export function linesOf(infos: readonly Info[]): Line[] {
  const last = new Map<number, Line>();
  for (const { rank, move, centipawns } of infos) {
    if (move !== undefined) last.set(rank, { move, centipawns });
  }
  return [...last].sort(([a], [b]) => a - b).map(([, line]) => line);
}
