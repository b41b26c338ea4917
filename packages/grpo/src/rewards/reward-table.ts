import type { StepRecord } from '../trace/index.js';
import type { RewardFailure } from './failure.js';

/** The rewards of B completions. */
export interface RewardTable {
  names: string[];
  weights: number[];
  /** One array of length B per reward; NaN where it has no value: no opinion, or a failure. */
  columns: Float64Array[];
  /** The grounds of these values, one array of length B per reward; missing where no reward gives any. */
  grounds?: (Grounds | null)[][];
  /** Length B: 1 where a reward with a weight failed, so that the completion has no total. */
  unscored: Uint8Array;
  failures: RewardFailure[];
  /** Seconds of each reward function, by its name; missing where groups of several scorings stand together. */
  seconds?: Readonly<Record<string, number>>;
  /** Further facts for the record of the step. */
  facts?: RewardFacts;
}

/** Who judged each completion, what the functions were given, and which values stand for a failure. */
export type RewardFacts = Pick<
  NonNullable<StepRecord['rewards']>,
  'providers' | 'replies' | 'inputType' | 'fallbacks'
>;

/** A reward's grounds for the value of one completion. */
export interface Grounds {
  /** Parts of the value, by name. */
  parts?: Readonly<Record<string, number>>;
  /** The rule that decided. */
  rule?: string;
  /** The judge's name, and its own words. */
  provider?: string;
  reply?: string;
}

/** Weighted sums of the values, length B; NaN where no reward with a weight has one, or where one failed. */
export function totals({ columns, weights, unscored }: RewardTable): Float64Array {
  return Float64Array.from(unscored, (isUnscored, i) => {
    if (isUnscored) return Number.NaN;
    let total = Number.NaN;
    columns.forEach((column, r) => {
      const value = weights[r]! * column[i]!;
      if (weights[r] !== 0 && !Number.isNaN(value)) total = Number.isNaN(total) ? value : total + value;
    });
    return total;
  });
}
