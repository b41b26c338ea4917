/** Rows as they are written; `grammar.ts` reads them. */
import type { Outcome } from './grammar.js';

/** @param history - the moves before; up to ten are written, the move itself last */
export const environmentPrompt = (fen: string, move: string, history: readonly string[]): string =>
  `A: ${fen}+${move}+${[...history, move].slice(-10).join(' ')}+`;

export const environmentCompletion = ({ fen, reward, terminated, truncated }: Outcome): string =>
  `${fen}+${reward}+${Number(terminated)}+${Number(truncated)}`;

export const policyPrompt = (fen: string): string => `P: ${fen}`;

/** @param lines - best move first, with their values in hundredths of a pawn for the side to move */
export const policyCompletion = (lines: readonly { move: string; centipawns: number }[]): string =>
  `   M: ${lines.map(({ move }) => move).join(' ')}   E: ${lines
    .map(({ centipawns }) => (centipawns / 100).toFixed(2))
    .join(' ')}   B: ${lines[0]!.move}`;
