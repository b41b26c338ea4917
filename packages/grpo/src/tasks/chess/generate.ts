/** Rows of RookWorld from random games. */
import type { Analyst } from './engine/analysis.js';
import { randomGame } from './games.js';
import { Position } from './position.js';
import { environmentCompletion, environmentPrompt, policyCompletion, policyPrompt } from './write-row.js';

/** Every so many games one is held out. */
const HELD_OUT_EVERY = 10;

/** A row with its prompt, by which copies are told. */
export interface GeneratedRow {
  kind: 'P' | 'A';
  prompt: string;
  text: string;
}

export interface GeneratedRows {
  train: GeneratedRow[];
  /** Rows of other games; none of their prompts is in `train`. */
  held: GeneratedRow[];
}

/**
 * The rows of random games, every prompt once: an A row of each move, and with an analyst a P row of each position.
 *
 * @param options.holdOut - whether a tenth of the games is held out
 * @param onGame - called after each game, with the rows so far
 */
export async function generateRows(
  { games, plies, seed, holdOut }: { games: number; plies: number; seed: number; holdOut: boolean },
  analyst?: Analyst,
  onGame?: (done: number, rows: number) => void,
): Promise<GeneratedRows> {
  const train = new Map<string, GeneratedRow>();
  const held = new Map<string, GeneratedRow>();
  for (let game = 0; game < games; game++) {
    const rows = holdOut && game % HELD_OUT_EVERY === HELD_OUT_EVERY - 1 ? held : train;
    for (const { fen, move, history, outcome } of randomGame(game, { seed, plies })) {
      const prompt = environmentPrompt(fen, move, history);
      rows.set(prompt, { kind: 'A', prompt, text: prompt + environmentCompletion(outcome) });
      const asked = policyPrompt(fen);
      if (analyst && !rows.has(asked)) {
        rows.set(asked, { kind: 'P', prompt: asked, text: asked + (await policyAnswer(fen, analyst)) });
      }
    }
    onGame?.(game + 1, train.size + held.size);
  }
  for (const prompt of train.keys()) held.delete(prompt);
  return { train: [...train.values()], held: [...held.values()] };
}

/** The engine's moves, with the values that the reward compares: of the position after each, for the mover. */
async function policyAnswer(fen: string, analyst: Analyst): Promise<string> {
  const position = Position.read(fen) as Position;
  const best = await analyst.best(fen);
  const values = await Promise.all(best.map(({ move }) => analyst.value(position.after(move)!)));
  return policyCompletion(best.map(({ move }, i) => ({ move, centipawns: -values[i]! })));
}
