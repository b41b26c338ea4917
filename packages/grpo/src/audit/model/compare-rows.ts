import { sum } from '../../maths/moments.js';
import type { Comparison, HandOver } from '../../trace/index.js';
import { type Pair, worstOf } from '../worst.js';
import { widened } from './rounding.js';
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
  /** How far rounding moves each token that the plain path has: asked where they lie too far apart in half precision. */
  moved?(): Float64Array;
}

/** Compares log-probs token by token, and by their root mean square distance; as many as were sampled must be there. */
export function compareRows(
  handOver: HandOver,
  quantity: string,
  rows: readonly LogProbRow[],
  tolerance: Pick<Tolerance, 'token' | 'all' | 'roundings'>,
): Comparison[] {
  return widened(tolerance.roundings, (times) => {
    const allowed = rows.map(({ moved }) =>
      times === 0 ? undefined : moved?.().map((distance) => times * distance),
    );
    return compared(handOver, quantity, rows, tolerance, allowed);
  });
}

/** @param allowed - how far each token of each row may lie off besides */
function compared(
  handOver: HandOver,
  quantity: string,
  rows: readonly LogProbRow[],
  { token: bound, all }: Pick<Tolerance, 'token' | 'all'>,
  allowed: readonly (Float64Array | undefined)[],
): Comparison[] {
  const besides = (row: number, token: number) => allowed[row]?.[token] ?? 0;
  const pairs = rows.flatMap(
    ({ found, plain, completion, tokens = [...plain.keys()], weight = 1 }, row): Pair[] =>
      tokens.map((token) => ({
        found: found?.length === plain.length ? found[token]! : Number.NaN,
        plain: plain[token]!,
        bound: weight * bound + besides(row, token),
        completion,
        token,
      })),
  );
  if (pairs.length === 0) return [];
  const squares = pairs.reduce((sum, { found, plain }) => sum + (Number(found) - Number(plain)) ** 2, 0);
  const most = Math.max(...rows.map(({ weight = 1 }) => weight));
  const rounding = rows.flatMap(({ plain, tokens = [...plain.keys()] }, row) =>
    tokens.map((token) => besides(row, token) ** 2),
  );
  const distance = {
    found: Math.sqrt(squares / pairs.length),
    plain: 0,
    bound: most * all + Math.sqrt(sum(rounding) / pairs.length),
  };
  return [
    ...worstOf(handOver, quantity, pairs),
    ...worstOf(handOver, `root mean square error of the ${quantity}`, [distance]).map((one) => ({
      ...one,
      compared: pairs.length,
    })),
  ];
}
