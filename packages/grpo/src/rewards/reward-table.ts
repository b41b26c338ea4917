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

/** Tables of the same rewards as one, their completions one after another; each reward took as long as in the slowest. */
export function joinTables(tables: readonly RewardTable[]): RewardTable {
  const [first] = tables;
  if (tables.length === 1) return first!;
  const { names, weights } = first!;
  const facts = tables.flatMap((table) => table.facts ?? []);
  let start = 0;
  const failures = tables.flatMap((table) => {
    const from = start;
    start += table.unscored.length;
    return table.failures.map((failure) => moveFailure(failure, from));
  });
  return {
    names,
    weights,
    columns: names.map((_, k) => Float64Array.from(tables.flatMap(({ columns }) => [...columns[k]!]))),
    ...(tables.some(({ grounds }) => grounds) && {
      grounds: names.map((_, k) =>
        tables.flatMap(({ grounds, unscored }) => grounds?.[k] ?? Array.from(unscored, () => null)),
      ),
    }),
    unscored: Uint8Array.from(tables.flatMap(({ unscored }) => [...unscored])),
    failures,
    ...(tables.every(({ seconds }) => seconds) && {
      seconds: Object.fromEntries(
        names.map((name) => [name, Math.max(...tables.map(({ seconds }) => seconds![name]!))]),
      ),
    }),
    ...(facts.length === tables.length && { facts: joinFacts(facts) }),
  };
}

/** A failure in a table in which its completion has another place. */
export const moveFailure = (failure: RewardFailure, by: number): RewardFailure =>
  failure.index === null ? failure : { ...failure, index: failure.index + by };

function joinFacts(all: readonly RewardFacts[]): RewardFacts {
  const [first] = all;
  return {
    ...first,
    ...(first!.providers && { providers: all.flatMap(({ providers = [] }) => providers) }),
    ...(first!.replies && { replies: all.flatMap(({ replies = [] }) => replies) }),
  };
}
