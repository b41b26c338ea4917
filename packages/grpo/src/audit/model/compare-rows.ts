import { mean } from '../../maths/moments.js';
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
  /** How far rounding moves each token. */
  moved?(): Float64Array;
}

/** Compares log-probs token by token, and by their root mean square distance; as many as were sampled must be there. */
export function compareRows(
  handOver: HandOver,
  quantity: string,
  rows: readonly LogProbRow[],
  { token: bound, all, roundings }: Pick<Tolerance, 'token' | 'all' | 'roundings'>,
): Comparison[] {
  const most = Math.max(...rows.map(({ weight = 1 }) => weight));
  return widened(roundings, (besides) => {
    const tokens = rows.flatMap(
      ({ found, plain, completion, tokens = [...plain.keys()], weight = 1, moved }) =>
        tokens.map((token) => ({
          found: found?.length === plain.length ? found[token]! : Number.NaN,
          plain: plain[token]!,
          rounding: besides(() => moved?.()[token] ?? 0),
          bound: weight * bound,
          completion,
          token,
        })),
    );
    if (tokens.length === 0) return [];
    const rms = (values: readonly number[]) => Math.sqrt(mean(values.map((x) => x * x)));
    const distance: Pair = {
      found: rms(tokens.map(({ found, plain }) => found - plain)),
      plain: 0,
      bound: most * all + rms(tokens.map(({ rounding }) => rounding)),
      compared: tokens.length,
    };
    const pairs = tokens.map(({ rounding, ...pair }) => ({ ...pair, bound: pair.bound + rounding }));
    return [
      ...worstOf(handOver, quantity, pairs),
      ...worstOf(handOver, `root mean square error of the ${quantity}`, [distance]),
    ];
  });
}
