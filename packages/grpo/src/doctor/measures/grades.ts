/** What completions earned for what they say. */
import type { StepRecord } from '../../trace/index.js';
import type { Observation } from '../check.js';
import { once } from '../once.js';

/** Name of the column that takes a KL from the rewards. */
export const PENALTY = 'kl_penalty';

/** Total rewards, without the KL where that is taken from them: it depends on how likely a completion was. */
export const gradesOf = once(({ declared, rewards }: StepRecord): Float64Array => {
  const { names = [], weights, values, totals } = rewards!;
  const k = declared?.kl?.place === 'reward' ? names.indexOf(PENALTY) : -1;
  if (k < 0 || !values) return totals!;
  const B = totals!.length;
  return totals!.map((total, b) => {
    const grade = total - (weights?.[k] ?? -1) * values[k * B + b]!;
    // The difference of a sum is off by its rounding.
    return Math.round(grade * 1e9) / 1e9;
  });
});

/** Names of rewards for the form of an answer. */
export const FORM = /format|tag|xml|style/i;

/** −1, 0 and 1 are what rewards are that are wholly missed or wholly earned. */
export const isNatural = (value: number): boolean => value === 0 || Math.abs(value) === 1;

/** What several records tell of each reward, record after record. */
export function byReward<T extends { reward: string }>(
  seen: readonly Observation<readonly T[]>[],
): { reward: string; own: (T & { step: number })[] }[] {
  const all = seen.flatMap(({ step, value }) => value.map((one) => ({ ...one, step })));
  const rewards = [...new Set(all.map(({ reward }) => reward))];
  return rewards.map((reward) => ({ reward, own: all.filter((one) => one.reward === reward) }));
}
