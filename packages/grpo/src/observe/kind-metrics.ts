import { mean } from '../maths/moments.js';
import { statistics } from '../objective/index.js';
import type { Batch } from '../step/batch.js';
import { groupsOf } from '../step/groups.js';

/** From this reward on a completion counts as solved where the share of flat groups is predicted. */
const SOLVED = 0.5;

/**
 * Metrics of each kind of problems, named `METRIC/KIND`, beside those of the whole step: rewards, flat groups, lengths.
 *
 * @param kinds_P - of the groups; '' where kinds are not told apart, and then there are none
 */
export function kindMetrics(own: Batch, kinds_P: readonly string[]): Record<string, number> {
  const row: Record<string, number> = {};
  for (const [kind, groups] of groupsByKind(own, kinds_P)) {
    if (kind === '') continue;
    const reward = statistics(rewardsOf(groups));
    const completions = groups.flatMap(({ completions_B }) => completions_B);
    const lengths = completions.map(({ ids }) => ids.length);
    row[`reward/${kind}`] = reward.mean;
    row[`reward_std/${kind}`] = reward.deviation;
    row[`frac_reward_zero_std/${kind}`] = mean(
      groups.map(({ rewards_B }) => Number(statistics(rewards_B).equal)),
    );
    row[`completions/mean_length/${kind}`] = mean(lengths);
    row[`completions/clipped_ratio/${kind}`] = mean(
      completions.map(({ finishReason }) => Number(finishReason !== 'stop')),
    );
  }
  return row;
}

/**
 * Share of flat groups to be expected if each completion were solved (reward above 0.5) with one probability p, that of
 * its kind: p^G + (1 − p)^G. Far more flat groups than that are problems that are always or never solved.
 */
export function expectedFlat(own: Batch, kinds_P: readonly string[]): number {
  const G = own.groupSize;
  const expected = [...groupsByKind(own, kinds_P).values()].flatMap((groups) => {
    const rewards = rewardsOf(groups).filter((reward) => !Number.isNaN(reward));
    const p = rewards.filter((reward) => reward > SOLVED).length / rewards.length;
    return groups.map(() => p ** G + (1 - p) ** G);
  });
  return mean(expected);
}

/**
 * How strongly each kind pulls: `signal/KIND`, the mean |advantage| of its completions, 0 in flat groups; and
 * `signal_balance`, the least of them over the largest.
 */
export function signalMetrics({ advantages }: Batch, kinds_P: readonly string[]): Record<string, number> {
  const size = advantages.advantages.length / kinds_P.length;
  const pulls = new Map<string, number[]>();
  for (const [p, kind] of kinds_P.entries()) {
    const own = [...advantages.advantages.slice(p * size, (p + 1) * size)].filter((a) => !Number.isNaN(a));
    pulls.set(kind, [...(pulls.get(kind) ?? []), ...own.map(Math.abs)]);
  }
  const signals = [...pulls].filter(([kind, own]) => kind !== '' && own.length > 0);
  const means = signals.map(([, own]) => mean(own));
  const most = Math.max(...means);
  return {
    ...Object.fromEntries(signals.map(([kind], i) => [`signal/${kind}`, means[i]!])),
    ...(means.length > 1 && most > 0 && { signal_balance: Math.min(...means) / most }),
  };
}

function groupsByKind(own: Batch, kinds_P: readonly string[]): Map<string, Batch[]> {
  const byKind = new Map<string, Batch[]>();
  for (const [p, group] of groupsOf(own).entries())
    byKind.set(kinds_P[p]!, [...(byKind.get(kinds_P[p]!) ?? []), group]);
  return byKind;
}

const rewardsOf = (groups: readonly Batch[]) =>
  Float64Array.from(groups.flatMap(({ rewards_B }) => [...rewards_B]));
