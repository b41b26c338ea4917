import { clusteredWilson, type Interval, meanInterval } from '../maths/interval.js';
import { mean, sum } from '../maths/moments.js';
import { passAtK } from '../maths/pass-at-k.js';
import type { EvalCompletion } from './eval-completion.js';

/** A mean or a share with its 95 % interval over problems; without one where too few values tell of their spread. */
export interface Estimate {
  mean: number;
  low: number | null;
  high: number | null;
}

/** How long some of the completions are. */
export interface Lengths {
  completions: number;
  /** Tokens of all of them, end tokens included. */
  tokens: number;
  /** Tokens a completion; null where there is none. */
  meanLength: number | null;
}

/** How one way of decoding did. */
export interface Score {
  /** Share of correct completions, with its 95 % interval over problems; null where the task cannot tell. */
  accuracy: number | null;
  low: number | null;
  high: number | null;
  /** Correct completions, of `total`; null where the task cannot tell. */
  correct: number | null;
  total: number;
  /**
   * Mean over problems of the weighted sum of the rewards, with its 95 % interval; null where no completion has one,
   * and the interval also with fewer than three problems, or when all are equal.
   */
  reward: number | null;
  rewardLow: number | null;
  rewardHigh: number | null;
  /**
   * Mean of each reward over the problems that have a value from it, null where none has. Of a reward that is only ever
   * 0 or 1 it is the share of completions with 1, and the interval is Wilson's.
   */
  rewards: Record<string, Estimate | null>;
  /** Tokens a completion, the end token included. */
  meanLength: number;
  /** Lengths of the correct completions and of the others; null where the task cannot tell. */
  right: Lengths | null;
  wrong: Lengths | null;
  /** Share of completions that were cut at the length limit, with its 95 % interval. */
  truncated: number;
  truncatedLow: number;
  truncatedHigh: number;
  /** Values that are missing because a reward function failed, over all rewards. */
  failed: number;
}

/**
 * Sums up a way of decoding.
 *
 * @param groups - the completions of each problem, the same number of each
 * @param failed - values that rewards failed to give
 */
export function scoreOf(groups: readonly (readonly EvalCompletion[])[], failed: number): Score {
  const all = groups.flat();
  const graded = all[0]!.correct !== null;
  const correct = graded ? shareOf(groups.map((group) => group.map((c) => Number(c.correct)))) : null;
  const truncated = shareOf(groups.map((group) => group.map((c) => Number(c.finishReason === 'length'))));
  const totals = groups.map((group) => present(group.map((c) => c.reward)));
  const reward = meanOf(totals.filter(hasAny).map(mean));
  return {
    accuracy: correct?.mean ?? null,
    low: correct?.low ?? null,
    high: correct?.high ?? null,
    correct: graded ? all.filter((c) => c.correct).length : null,
    total: all.length,
    reward: reward?.mean ?? null,
    rewardLow: reward?.low ?? null,
    rewardHigh: reward?.high ?? null,
    rewards: Object.fromEntries(Object.keys(all[0]!.rewards).map((name) => [name, rewardOf(groups, name)])),
    meanLength: mean(all.map((c) => c.length)),
    right: graded ? lengthsOf(all.filter((c) => c.correct)) : null,
    wrong: graded ? lengthsOf(all.filter((c) => !c.correct)) : null,
    truncated: truncated.mean,
    truncatedLow: truncated.low,
    truncatedHigh: truncated.high,
    failed,
  };
}

/** pass@k over problems, by k: the share of problems that k completions are expected to solve. */
export function passAtKs(
  groups: readonly (readonly EvalCompletion[])[],
  ks: readonly number[],
): Record<string, Estimate> {
  const estimate = (k: number): Estimate => {
    const solved = groups.map((group) => passAtK(group.length, group.filter((c) => c.correct).length, k));
    const sizes = groups.map((group) => group.length);
    return {
      mean: mean(solved),
      ...clusteredWilson(
        solved.map((share, i) => share * sizes[i]!),
        sizes,
      ),
    };
  };
  return Object.fromEntries(ks.map((k) => [k, estimate(k)]));
}

function rewardOf(groups: readonly (readonly EvalCompletion[])[], name: string): Estimate | null {
  const values = groups.map((group) => present(group.map((c) => c.rewards[name]!))).filter(hasAny);
  const isShare = values.flat().every((value) => value === 0 || value === 1);
  return isShare && values.length > 0 ? shareOf(values) : meanOf(values.map(mean));
}

/** Mean of one value a problem; null without any. */
function meanOf(values: readonly number[]): Estimate | null {
  if (values.length === 0) return null;
  const interval = meanInterval(values);
  return { mean: mean(values), low: interval?.low ?? null, high: interval?.high ?? null };
}

/** The share of ones among the zeros and ones of each problem. */
function shareOf(values: readonly (readonly number[])[]): { mean: number } & Interval {
  const interval = clusteredWilson(
    values.map(sum),
    values.map((own) => own.length),
  );
  return { mean: mean(values.flat()), ...interval };
}

function lengthsOf(completions: readonly EvalCompletion[]): Lengths {
  const tokens = sum(completions.map((c) => c.length));
  const count = completions.length;
  return { completions: count, tokens, meanLength: count > 0 ? tokens / count : null };
}

const present = (values: readonly (number | null)[]) => values.filter((value) => value !== null);
const hasAny = (values: readonly number[]) => values.length > 0;
