import type { Comparison, HandOver } from '../../trace/index.js';
import { type Pair, worstOf } from '../worst.js';
import type { Tolerance } from './tolerance.js';

/** The log-probs of a completion by the trainer, and by the plain path. */
export interface LogProbRow {
  /** Its place among the completions of the step. */
  completion: number;
  found: Float32Array | undefined;
  plain: Float32Array;
  /** The tokens that the plain path has; all where this is not given. */
  tokens?: readonly number[];
  /** Sum of the weights of a token's passes, by which their errors grow in its log-prob; 1 by default. */
  weight?: number;
}

/** Compares log-probs token by token, and by their root mean square distance; as many as were sampled must be there. */
export function compareRows(
  handOver: HandOver,
  quantity: string,
  rows: readonly LogProbRow[],
  { token: bound, all }: Pick<Tolerance, 'token' | 'all'>,
): Comparison[] {
  const pairs = rows.flatMap(({ found, plain, completion, tokens = [...plain.keys()], weight = 1 }): Pair[] =>
    tokens.map((token) => ({
      found: found?.length === plain.length ? found[token]! : Number.NaN,
      plain: plain[token]!,
      bound: weight * bound,
      completion,
      token,
    })),
  );
  if (pairs.length === 0) return [];
  const squares = pairs.reduce((sum, { found, plain }) => sum + (Number(found) - Number(plain)) ** 2, 0);
  const most = Math.max(...rows.map(({ weight = 1 }) => weight));
  const distance = { found: Math.sqrt(squares / pairs.length), plain: 0, bound: most * all };
  return [
    ...worstOf(handOver, quantity, pairs),
    ...worstOf(handOver, `root mean square error of the ${quantity}`, [distance]).map((one) => ({
      ...one,
      compared: pairs.length,
    })),
  ];
}
