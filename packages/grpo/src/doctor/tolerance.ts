/** How far two computations of one log-prob may lie apart, by the precision of the weights. */
import type { StepRecord } from '../trace/index.js';

export interface Tolerance {
  /** Nats per token, on average. */
  mean: number;
  /** Nats, of the worst token. */
  max: number;
}

const FLOAT32: Tolerance = { mean: 1e-4, max: 1e-2 };
/** Half precision: measured on clean runs at up to 0.009 and 0.074. */
const HALF: Tolerance = { mean: 0.03, max: 1 };

/** Whether the forward pass has float32 weights; not where that is unknown. */
export const isFull = ({ declared }: Pick<StepRecord, 'declared'>): boolean =>
  declared?.dtype === 'float32' || declared?.dtype === 'float64';

export const toleranceOf = (record: Pick<StepRecord, 'declared'>): Tolerance =>
  isFull(record) ? FLOAT32 : HALF;

/**
 * Whether rounding explains one distance and not the other. Near the tolerance rounding alone may set two distances on both
 * of its sides; then one is not twice the other.
 */
export const explains = (less: number, more: number, { mean }: Tolerance): boolean =>
  less <= mean && more > mean && more > 2 * less;

/** How far one log-prob may lie from itself, computed again in another batch: dropout sets it further apart. */
export const repeatBound = (record: Pick<StepRecord, 'declared'>): number => (isFull(record) ? 1e-4 : 0.05);

const ROUNDING = { full: 1e-4, half: 0.01 };
/** The bounds of `roundingOf` in words. */
export const WITHIN_ROUNDING = `${ROUNDING.full} in float32, ${ROUNDING.half} in half precision`;

/**
 * How far two log-probs of one pass may lie apart, whose logits may have been processed in half precision; of a sum, a share
 * of its size: another order, and parts that were rounded.
 */
export const roundingOf = (record: Pick<StepRecord, 'declared'>): number =>
  isFull(record) ? ROUNDING.full : ROUNDING.half;

/** How far log-probs lie apart. */
export interface Gap {
  /** Mean and largest absolute difference; NaN when there is nothing to compare, or a log-prob is NaN. */
  mean: number;
  max: number;
  /** Mean difference with its sign. */
  signed: number;
  tokens: number;
  worst: { row: number; token: number };
}

/**
 * Compares the rows that both have in equal length, over the tokens with mask 1: a masked token may have been computed
 * without attention, or not at all.
 */
export function compare(
  a: readonly Float32Array[],
  b: readonly Float32Array[],
  masks?: readonly Uint8Array[],
): Gap {
  let [total, signed, max, tokens] = [0, 0, 0, 0];
  let worst = { row: 0, token: 0 };
  for (const [row, own] of a.entries()) {
    const other = b[row];
    if (other?.length !== own.length) continue;
    const mask = masks?.[row];
    for (let token = 0; token < own.length; token++) {
      if (mask?.[token] === 0) continue;
      const gap = own[token]! - other[token]!;
      total += Math.abs(gap);
      signed += gap;
      tokens++;
      // NaN stays the worst.
      if (!Number.isNaN(max) && !(Math.abs(gap) <= max)) {
        max = Math.abs(gap);
        worst = { row, token };
      }
    }
  }
  return { mean: total / tokens, max: tokens > 0 ? max : Number.NaN, signed: signed / tokens, tokens, worst };
}
