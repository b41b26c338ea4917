/**
 * The two kinds of rows of RookWorld:
 *
 * - P, a policy: `P: FEN   M: e2e4 d2d4   E: 0.35 0.30   B: e2e4`, the position's best moves, what each is worth in
 *   pawns for the side to move, and the best of them;
 * - A, an environment: `A: FEN+move+history+FEN+reward+terminated+truncated`, a move and what it leads to.
 */
import { parseFen, quoteExcerpt } from './fen.js';
import { UCI } from './position.js';

/** Question of a P row: the best move. */
export interface PolicyPrompt {
  kind: 'P';
  fen: string;
}

/** Question of an A row: the position after a move. */
export interface EnvironmentPrompt {
  kind: 'A';
  fen: string;
  move: string;
  /** Up to ten moves, the one to be played last. */
  history: string[];
}

/** A row, split so that prompt and completion together are its text. */
export interface SplitRow {
  prompt: string;
  /** Absent where the row ends with its prompt. */
  completion?: string;
}

const MOST_MOVES = 5;
const MOST_HISTORY = 10;
const NUMBER = /^[-+]?(?:\d+(?:\.\d+)?|\.\d+)$/;
const SECTIONS = /^ *M: +(\S.*?) +E: +(\S.*?) +B: +(\S+) *$/;

/** A text that is no row; the message says why. */
export class GrammarError extends Error {}

/** Gives a row without `P: ` or `A: ` the prefix that it lacks: in the public files that is A. */
function withPrefix(text: string): string {
  if (/^[PA]: /.test(text)) return text;
  if (/^[PA]:/.test(text)) throw new GrammarError(`there must be a space after "${text.slice(0, 2)}"`);
  return `A: ${text}`;
}

/** @throws GrammarError when the text is no prompt: no exact prefix, or a part of it malformed */
export function parsePrompt(prompt: string): PolicyPrompt | EnvironmentPrompt {
  const body = prompt.slice(3);
  if (prompt.startsWith('P: ')) return { kind: 'P', fen: wholeFen(body.trimEnd()) };
  if (!prompt.startsWith('A: ')) {
    throw new GrammarError(`a prompt begins with "P: " or "A: ", found ${quoteExcerpt(prompt)}`);
  }
  const [fen, move, history, end, ...more] = body.split('+');
  if (end !== '' || more.length > 0) throw new GrammarError('an A prompt is "A: FEN+move+history+"');
  return { kind: 'A', fen: wholeFen(fen!), move: uci(move!), history: moves(history!, MOST_HISTORY) };
}

/**
 * Splits a row's text, and checks all of it.
 * @throws GrammarError
 */
export function splitRow(text: string): SplitRow {
  const row = withPrefix(text).trimEnd();
  return row.startsWith('P: ') ? splitPolicy(row) : splitEnvironment(row);
}

function splitPolicy(row: string): SplitRow {
  const start = row.indexOf('M:');
  const prompt = (start < 0 ? row : row.slice(0, start)).trimEnd();
  parsePrompt(prompt);
  if (start < 0) return { prompt };
  const completion = row.slice(prompt.length);
  parsePolicy(completion);
  return { prompt, completion };
}

/**
 * The completion of a P row, as strictly as it is written: `M: `, up to five moves, `E: `, as many numbers, `B: ` and a
 * move, with spaces between.
 * @throws GrammarError
 */
export function parsePolicy(completion: string): { moves: string[]; evaluations: number[]; best: string } {
  const match = SECTIONS.exec(completion);
  if (!match)
    throw new GrammarError(`expected "M: moves E: numbers B: move", found ${quoteExcerpt(completion)}`);
  const candidates = moves(match[1]!, MOST_MOVES);
  const values = match[2]!.split(/ +/);
  const odd = values.find((value) => !NUMBER.test(value));
  if (odd !== undefined) throw new GrammarError(`E: must hold numbers, found ${quoteExcerpt(odd)}`);
  if (values.length !== candidates.length)
    throw new GrammarError(`M: has ${candidates.length} moves, but E: has ${values.length} numbers`);
  return { moves: candidates, evaluations: values.map(Number), best: uci(match[3]!) };
}

/** Seven fields are a row, three to six (the last may be empty) a prompt. */
function splitEnvironment(row: string): SplitRow {
  const fields = row.split('+');
  if (fields.length < 3 || fields.length > 7)
    throw new GrammarError(
      `an A row has 7 fields between + (or 3, its prompt), found ${fields.length}: ${quoteExcerpt(row)}`,
    );
  const prompt = `${fields.slice(0, 3).join('+')}+`;
  parsePrompt(prompt);
  if (fields.length < 7) return { prompt };
  const completion = fields.slice(3).join('+');
  parseEnvironment(completion);
  return { prompt, completion };
}

/** Result of a move, as an environment reports it. */
export interface Outcome {
  fen: string;
  reward: number;
  terminated: boolean;
  truncated: boolean;
}

/** @throws GrammarError for anything but `FEN+reward+terminated+truncated` */
export function parseEnvironment(completion: string): Outcome {
  const fields = completion.split('+');
  if (fields.length !== 4)
    throw new GrammarError(
      `expected "FEN+reward+terminated+truncated", found ${fields.length} fields: ${quoteExcerpt(completion)}`,
    );
  const [fen, reward, terminated, truncated] = fields as [string, string, string, string];
  if (!NUMBER.test(reward))
    throw new GrammarError(`the reward must be a number, found ${quoteExcerpt(reward)}`);
  return {
    fen: wholeFen(fen),
    reward: Number(reward),
    terminated: flag('terminated', terminated),
    truncated: flag('truncated', truncated),
  };
}

function flag(name: string, text: string): boolean {
  if (!/^(?:0|1|true|false)$/.test(text))
    throw new GrammarError(`${name} must be 0 or 1, found ${quoteExcerpt(text)}`);
  return text === '1' || text === 'true';
}

function wholeFen(text: string): string {
  const fields = parseFen(text);
  if (typeof fields === 'string')
    throw new GrammarError(`${quoteExcerpt(text)} is not a position: ${fields}`);
  return text;
}

function uci(text: string): string {
  if (!UCI.test(text))
    throw new GrammarError(`a move is written like e2e4 or e7e8q, found ${quoteExcerpt(text)}`);
  return text;
}

function moves(text: string, most: number): string[] {
  const all = text === '' ? [] : text.split(/ +/).map(uci);
  if (all.length > most) throw new GrammarError(`at most ${most} moves, found ${all.length}`);
  return all;
}
