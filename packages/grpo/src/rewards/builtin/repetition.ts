import { UserError } from '../../errors/user-error.js';
import type { RewardFunction, Verdict } from '../reward.js';
import { idsIn } from './completion-ids.js';

export interface RepetitionSettings {
  /** Tokens of a run that counts as repeated. 3 when left out. */
  ngram?: number | undefined;
  /** The penalty of a completion that only repeats itself, 0 or less. −1 when left out. */
  maxPenalty?: number | undefined;
}

/**
 * The share of a completion's n-grams of tokens that it had before, times the penalty (Yeo et al., 2025, app. C.2);
 * 0 for a completion with fewer tokens than n.
 *
 * @throws UserError for a penalty above 0
 */
export function repetition({ ngram = 3, maxPenalty = -1 }: RepetitionSettings = {}): RewardFunction<unknown> {
  if (maxPenalty > 0) throw new UserError(`a penalty for repetition is 0 or less, found ${maxPenalty}`);
  return (batch) => idsIn(batch).map((ids) => judge(ids, ngram, maxPenalty));
}

function judge(ids: readonly number[], ngram: number, maxPenalty: number): Verdict {
  const total = ids.length - ngram + 1;
  if (total < 1) return { value: 0, rule: `shorter than ${ngram} tokens` };
  const distinct = new Set(Array.from({ length: total }, (_, i) => ids.slice(i, i + ngram).join()));
  const repeated = 1 - distinct.size / total;
  // Without || a completion that repeats nothing would earn −0.
  return { value: repeated * maxPenalty || 0, parts: { repeated } };
}
