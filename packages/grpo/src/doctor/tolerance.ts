/** How far two computations of one log-prob may lie apart, by the precision of the weights. */
import type { StepRecord } from '../trace/index.js';

export interface Tolerance {
  /** Nats a token, on average. */
  mean: number;
  /** Nats, of the worst token. */
  max: number;
}

const FLOAT32: Tolerance = { mean: 1e-4, max: 1e-2 };
/** Half precision: measured on clean runs at up to 0.009 and 0.074. */
const HALF: Tolerance = { mean: 0.03, max: 1 };

/** Half precision’s where the precision is unknown. */
export function toleranceOf({ declared }: StepRecord): Tolerance {
  return declared?.dtype === 'float32' || declared?.dtype === 'float64' ? FLOAT32 : HALF;
}

/** Mean and largest absolute difference over the rows that both have in equal length. */
export function compare(
  a: readonly Float32Array[],
  b: readonly Float32Array[],
): { mean: number; max: number; tokens: number; signed: number; worst: { row: number; token: number } } {
  let [total, signed, max, tokens] = [0, 0, 0, 0];
  let worst = { row: 0, token: 0 };
  for (const [row, own] of a.entries()) {
    const other = b[row];
    if (other?.length !== own.length) continue;
    for (let token = 0; token < own.length; token++) {
      const gap = own[token]! - other[token]!;
      total += Math.abs(gap);
      signed += gap;
      tokens++;
      if (Math.abs(gap) > max || Number.isNaN(gap)) {
        max = Math.abs(gap);
        worst = { row, token };
      }
    }
  }
  return { mean: total / tokens, max, tokens, signed: signed / tokens, worst };
}
