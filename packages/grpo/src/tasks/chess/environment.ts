/** The reward of an A completion, on the scale of RookWorld: from −0.9 to 0.54, positive only for the right position. */
import type { Verdict } from '../../rewards/reward.js';
import { type FenFields, kings, parseFen } from './fen.js';
import { type EnvironmentPrompt, GrammarError, parsePrompt } from './grammar.js';
import { Position } from './position.js';

/** Values by rule. */
const MALFORMED_PROMPT = -0.5;
const ILLEGAL_PROMPT = -0.8;
const EXACT = 0.5;
const FULL_MOVE_ONLY = -0.3;
const WRONG = -0.7;
const NO_POSITION = -0.2;

/**
 * Scores a completion of an A prompt.
 *
 * - `schema`, up to 0.03: four fields between `+`, and each of its kind;
 * - `fen`: 0.5 for the right position, −0.3 when only the full-move number is wrong, −0.7 for anything else;
 * - `validity`: 0.01 for a position with one king a side, the right side to move and the right castling rights; −0.2
 *   when it is none.
 */
export function scoreEnvironment(prompt: string, completion: string): Verdict {
  const asked = environmentPrompt(prompt);
  const position = asked && Position.read(asked.fen);
  if (!asked || !(position instanceof Position))
    return { value: MALFORMED_PROMPT, rule: 'the prompt is malformed' };
  if (!position.play(asked.move)) return { value: ILLEGAL_PROMPT, rule: "the prompt's move is illegal" };
  const predicted = predictedFen(completion);
  const fen = scoreFen(predicted, position.fen);
  const parts = {
    schema: scoreSchema(completion),
    fen: fen.value,
    validity: scoreValidity(predicted, position.fen),
  };
  return { value: rounded(parts.schema + parts.fen + parts.validity), parts, rule: fen.rule };
}

/** The position that a completion begins with, its white space as in a FEN. */
export const predictedFen = (completion: string): string =>
  completion.split('+')[0]!.trim().replace(/\s+/g, ' ');

/** The position that a prompt's move leads to: the same one where the move is illegal. Undefined for no A prompt. */
export function expectedFen(prompt: string): string | undefined {
  const asked = environmentPrompt(prompt);
  const position = asked && Position.read(asked.fen);
  if (!asked || !(position instanceof Position)) return undefined;
  position.play(asked.move);
  return position.fen;
}

function environmentPrompt(prompt: string): EnvironmentPrompt | undefined {
  try {
    const asked = parsePrompt(prompt);
    return asked.kind === 'A' ? asked : undefined;
  } catch (error) {
    if (error instanceof GrammarError) return undefined;
    throw error;
  }
}

function scoreSchema(completion: string): number {
  const fields = completion.split('+');
  if (fields.length < 4) return 0;
  const [fen, reward, ...flags] = fields.slice(0, 4).map((field) => field.trim()) as [string, string];
  const kinds = [
    /[pnbrqkPNBRQK1-8]+\/[pnbrqkPNBRQK1-8/]+/.test(fen),
    /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(reward),
    ...flags.map((flag) => /^(?:0|1|true|false)$/.test(flag)),
  ];
  return rounded(0.01 + 0.005 * kinds.filter(Boolean).length);
}

function scoreFen(predicted: string, expected: string): { value: number; rule: string } {
  if (predicted === '') return { value: WRONG, rule: 'no position' };
  const [given, right] = [predicted.split(' '), expected.split(' ')];
  if (given.length < 6) return { value: WRONG, rule: `a position of ${given.length} fields` };
  if (predicted === expected) return { value: EXACT, rule: 'the right position' };
  const wrong = FIELDS.filter((_, i) => given[i] !== right[i]);
  if (given.length === 6 && wrong.length === 1 && wrong[0] === 'full-move number')
    return { value: FULL_MOVE_ONLY, rule: 'wrong full-move number only' };
  return { value: WRONG, rule: wrong.length === 0 ? 'more than a position' : `wrong ${wrong.join(', ')}` };
}

const FIELDS = [
  'placement',
  'side to move',
  'castling rights',
  'en-passant field',
  'half-move clock',
  'full-move number',
] as const;

function scoreValidity(predicted: string, expected: string): number {
  const fields = predicted === '' ? 'nothing' : parseFen(predicted, 1);
  if (typeof fields === 'string' || kings(fields).some((count) => count !== 1)) return NO_POSITION;
  const right = parseFen(expected) as FenFields;
  const [, turn, castling] = predicted.split(' ');
  const held = Number(turn === right.turn) + Number(castling === right.castling);
  return 0.005 + 0.0025 * held;
}

/** Without the last bits of a sum of decimals. */
const rounded = (value: number) => Math.round(value * 1e6) / 1e6;
