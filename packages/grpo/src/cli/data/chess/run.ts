import { existsSync } from 'node:fs';
import { UsageError, UserError } from '../../../errors/user-error.js';
import { wholeNumber } from '../../../errors/whole-number.js';
import { writeFileAtomic } from '../../../formats/atomic-file.js';
import { ChessEngine } from '../../../tasks/chess/engine/engine.js';
import { findEngine } from '../../../tasks/chess/engine/find.js';
import { type GeneratedRow, generateRows } from '../../../tasks/chess/generate.js';
import type { CommandArguments } from '../../command.js';

/** `grpo data chess`: rows of RookWorld from random legal games. */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  const [out, ...more] = operands;
  if (out === undefined || more.length > 0) {
    throw new UsageError('grpo data chess needs one file to write.', {
      hint: 'For instance: grpo data chess chess.jsonl --held-out held.jsonl --games 1000',
    });
  }
  const heldOut = flags['held-out'] as string | undefined;
  for (const path of [out, ...(heldOut === undefined ? [] : [heldOut])]) {
    if (existsSync(path))
      throw new UserError(`${path} exists already`, { hint: 'Delete it, or give another name.' });
  }
  const options = {
    games: wholeNumber('--games', flags.games, { least: 1 }) ?? 100,
    plies: wholeNumber('--plies', flags.plies, { least: 1 }) ?? 60,
    seed: wholeNumber('--seed', flags.seed) ?? 0,
    holdOut: heldOut !== undefined,
  };
  const path = enginePath(flags.engine as string | undefined);
  using engine = path === undefined ? undefined : new ChessEngine(path);
  const say = (text: string) => process.stderr.write(`${text}\n`);
  say(path === undefined ? 'No chess engine: A rows only.' : `P rows are judged by ${path}.`);
  const start = performance.now();
  let told = start;
  const { train, held } = await generateRows(options, engine, (games, rows) => {
    if (performance.now() - told < 10_000) return;
    told = performance.now();
    say(`${games} of ${options.games} games, ${rows} rows`);
  });
  const seconds = (performance.now() - start) / 1000;
  const speed = Math.round((train.length + held.length) / seconds);
  writeRows(out, train);
  if (heldOut !== undefined) writeRows(heldOut, held);
  say(`${options.games} games in ${seconds.toFixed(1)} s, ${speed} rows a second.`);
  return 0;
}

function writeRows(path: string, rows: readonly GeneratedRow[]): void {
  writeFileAtomic(path, rows.map(({ text }) => `${JSON.stringify({ text })}\n`).join(''));
  const policies = rows.filter(({ kind }) => kind === 'P').length;
  process.stdout.write(`${path}: ${policies} P rows, ${rows.length - policies} A rows\n`);
}

/** The engine that is asked for; without a word, Stockfish where it is. */
function enginePath(name: string | undefined): string | undefined {
  if (name === 'none') return undefined;
  if (name !== undefined) return findEngine(name);
  try {
    return findEngine('stockfish');
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}
