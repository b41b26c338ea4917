import { UserError } from '../errors/user-error.js';
import { joinRows } from '../maths/lists.js';
import type { RewardColumns } from './reward-columns.js';
import type { AdvantageSettings } from './settings.js';
import { type Statistics, statistics } from './statistics.js';
import { trlAdvantages } from './trl.js';

export interface Advantages {
  /** One per completion; 0 for a completion that could not be scored. */
  advantages: Float64Array;
  /** Mean reward of each group, NaN when none of it could be scored. */
  means: Float64Array;
  /** Standard deviation of each group's rewards. */
  deviations: Float64Array;
  /** Share of the groups whose rewards are all equal: they teach nothing. */
  zeroVariance: number;
  /** Groups that have no part in the update. */
  dropped: readonly number[];
}

/** Added to the deviation that whitening divides by. */
const WHITENING = 1e-8;

/**
 * Advantages of completions over the others of their group: (reward − baseline) / (deviation + epsilon). With the group's
 * mean and deviation this is DeepSeekMath's eq. 3 (Shao et al., 2024), with leave-one-out RLOO (Ahmadian et al., 2024),
 * without a deviation Dr. GRPO (Liu et al., 2025). Divided by the group's mean reward it is MaxRL (Tajwar et al., 2026,
 * arXiv 2602.02710, Algorithm 1), 0 where that mean is 0. A group of equal rewards gets exactly 0, where rounding of the mean
 * would otherwise leave a small bias of one sign. A completion that could not be scored gets 0 and enters no mean.
 *
 * @param groupSize - G; the rewards are those of B / G groups
 * @throws UserError when rewards below 0 are to be divided by their mean
 */
export function advantagesOf(
  table: RewardColumns,
  groupSize: number,
  settings: AdvantageSettings,
): Advantages {
  const rewards = scoredOnly(table);
  const { totals } = rewards;
  if (totals.length % groupSize !== 0)
    throw new RangeError(`${totals.length} rewards do not divide into groups of ${groupSize}`);
  const groups = groupsOf(totals, groupSize).map((group) => statistics(group, settings.ddof));
  const groupOf = (b: number) => Math.floor(b / groupSize);
  const flat = whereAll(rewards, groupSize, settings, (group) => isFlat(group, settings));
  const dropped = settings.flat === 'drop' && flat.size < groups.length ? flat : new Set<number>();
  // Without a baseline nothing is compared.
  const isReplaced = (b: number) => settings.baseline !== 'none' && flat.has(groupOf(b));
  const isCompatible = settings.compat !== undefined;
  // TRL treats no group as flat: advantages that come from rounding stay.
  const isZero = (b: number) =>
    isReplaced(b) && settings.flat !== 'raw' && !(isCompatible && settings.flatBelow === 0);
  const comparison = isCompatible ? trlAdvantages : compare;
  const compared = comparison(rewards, groupSize, settings).map((advantage, b) => {
    if (isZero(b)) return 0;
    return isReplaced(b) && settings.flat === 'raw' ? totals[b]! : advantage;
  });
  const isKnown = (b: number) => !Number.isNaN(totals[b]!);
  const counted = compared.map((advantage, b) =>
    isKnown(b) && !dropped.has(groupOf(b)) ? advantage : Number.NaN,
  );
  const advantages = settings.whiten ? standardized(counted, 1, WHITENING) : compared;
  return {
    // Again: whitening takes away a mean that is 0 but for rounding.
    advantages: advantages.map((advantage, b) =>
      isZero(b) || !isKnown(b) ? 0 : bounded(advantage, settings.clip),
    ),
    means: Float64Array.from(groups, ({ mean }) => mean),
    deviations: Float64Array.from(groups, ({ deviation }) => deviation),
    zeroVariance: whereAll(rewards, groupSize, settings, ({ equal }) => equal).size / groups.length,
    // A step in which nothing differs has nothing to learn from, and keeps its KL.
    dropped: [...dropped],
  };
}

/** Removes the values of completions without a total: where one reward failed, the others are not compared either. */
const scoredOnly = ({ columns, weights, totals }: RewardColumns): RewardColumns => ({
  columns: columns.map((column) => column.map((value, b) => (Number.isNaN(totals[b]!) ? Number.NaN : value))),
  weights,
  totals,
});

/** The groups in which all that is compared is so: the totals, or for GDPO each reward that counts. */
function whereAll(
  { columns, weights, totals }: RewardColumns,
  groupSize: number,
  { combine, ddof }: AdvantageSettings,
  isSo: (group: Statistics) => boolean,
): Set<number> {
  const values = combine === 'sum_then_normalize' ? [totals] : columns.filter((_, k) => weights[k] !== 0);
  const groups = values.map((column) =>
    groupsOf(column, groupSize).map((group) => isSo(statistics(group, ddof))),
  );
  const all = Array.from({ length: totals.length / groupSize }, (_, g) => g);
  return new Set(all.filter((g) => groups.every((of) => of[g])));
}

/** Settings that decide whether a group is flat. */
export type Flatness = Pick<AdvantageSettings, 'ddof' | 'flatBelow'>;

/**
 * Whether there is nothing to compare in a group: its rewards are equal, or nearly so.
 *
 * @param rewards - totals of one group; NaN where there is none
 */
export const isFlatGroup = (rewards: Float64Array, flatness: Flatness): boolean =>
  isFlat(statistics(rewards, flatness.ddof), flatness);

const isFlat = ({ equal, deviation }: Statistics, { flatBelow }: Flatness) => equal || deviation < flatBelow;

function compare(rewards: RewardColumns, groupSize: number, settings: AdvantageSettings): Float64Array {
  if (settings.combine === 'sum_then_normalize') return relative(rewards.totals, groupSize, settings);
  const { columns, weights, totals } = rewards;
  const parts = columns.map((column) => relative(column, groupSize, { ...settings, scale: 'group' }));
  const sums = totals.map((total, b) =>
    Number.isNaN(total) ? total : parts.reduce((sum, part, k) => sum + weights[k]! * part[b]!, 0),
  );
  return standardized(sums, settings.ddof, settings.epsilon);
}

/** Advantages of values within their groups; 0 where there is no value, and for equal values with a baseline. */
function relative(values: Float64Array, groupSize: number, settings: AdvantageSettings): Float64Array {
  const { baseline, scale, ddof, epsilon, floor } = settings;
  const batch = statistics(values, ddof);
  if (scale === 'mean') refuseNegative(values, groupSize);
  return joinRows(
    Float64Array,
    groupsOf(values, groupSize).map((group) => {
      const groupStatistics = statistics(group, ddof);
      const deviation = Math.max((scale === 'batch' ? batch : groupStatistics).deviation, floor) + epsilon;
      return group.map((value) => {
        if (Number.isNaN(value) || (groupStatistics.equal && baseline !== 'none')) return 0;
        const centred = value - baselineOf(baseline, value, groupStatistics);
        if (scale === 'none') return centred;
        if (scale === 'mean') return groupStatistics.mean === 0 ? 0 : centred / groupStatistics.mean;
        return centred / deviation;
      });
    }),
  );
}

/** A mean of rewards is the share of the right completions where a reward is 0 or 1; a mean below 0 turns the signs. */
function refuseNegative(values: Float64Array, groupSize: number): void {
  const place = values.findIndex((value) => value < 0);
  if (place === -1) return;
  const g = Math.floor(place / groupSize);
  const rewards = Array.from(values.subarray(g * groupSize, (g + 1) * groupSize), (x) => String(round(x)));
  throw new UserError(
    `advantage.scale=mean divides by the mean reward of a group, and group ${g + 1} has a reward below 0: ${rewards.join(', ')}`,
    { hint: 'MaxRL is for rewards of 0 and 1. Make them so, or use advantage.scale=group.' },
  );
}

const round = (value: number) => Number(value.toPrecision(4));

function baselineOf(baseline: AdvantageSettings['baseline'], value: number, { mean, count }: Statistics) {
  if (baseline === 'none') return 0;
  return baseline === 'group' ? mean : (mean * count - value) / (count - 1);
}

/** (value − mean) / (deviation + epsilon), 0 where there is no value. */
function standardized(values: Float64Array, ddof: 0 | 1, epsilon: number): Float64Array {
  const { mean, deviation, equal } = statistics(values, ddof);
  return values.map((value) => (equal || Number.isNaN(value) ? 0 : (value - mean) / (deviation + epsilon)));
}

const bounded = (value: number, clip = Number.POSITIVE_INFINITY) => Math.max(-clip, Math.min(clip, value));

const groupsOf = (values: Float64Array, size: number) =>
  Array.from({ length: values.length / size }, (_, g) => values.subarray(g * size, (g + 1) * size));
