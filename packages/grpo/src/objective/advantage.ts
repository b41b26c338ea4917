/** Standard deviation that divides the advantages. */
export type RewardScale = 'group' | 'batch' | 'none';

export interface Advantages {
  /** One a completion; 0 for a completion that could not be scored. */
  advantages: Float64Array;
  /** Mean reward of each group, NaN when none of it could be scored. */
  means: Float64Array;
  /** Standard deviation of each group's rewards (ddof 1). */
  deviations: Float64Array;
  /** Share of the groups whose rewards are all equal: they teach nothing. */
  zeroVariance: number;
}

/** Relative: sums of the same parts in another order. */
const ROUNDING = 1e-12;

/** Keeps a group of nearly equal rewards from being blown up (TRL's value). */
const EPSILON = 1e-4;

/**
 * Advantages relative to the group: (reward − group mean) / (deviation + 1e-4).
 *
 * DeepSeekMath, eq. 3 (Shao et al., 2024), with TRL's deviation (ddof 1) and epsilon. A group of equal rewards gets
 * exactly 0, where rounding of the mean would otherwise leave a small bias of one sign.
 *
 * @param rewards - one a completion, the groups one after another; NaN for what could not be scored: such a completion
 * gets advantage 0 and does not enter the mean
 */
export function groupAdvantages(rewards: Float64Array, groupSize: number, scale: RewardScale): Advantages {
  if (rewards.length % groupSize !== 0) {
    throw new RangeError(`${rewards.length} rewards do not divide into groups of ${groupSize}`);
  }
  const groups = Array.from({ length: rewards.length / groupSize }, (_, g) =>
    statistics(rewards.subarray(g * groupSize, (g + 1) * groupSize)),
  );
  const batch = statistics(rewards);
  const advantages = rewards.map((reward, i) => {
    const group = groups[Math.floor(i / groupSize)]!;
    if (Number.isNaN(reward) || group.equal) return 0;
    const centred = reward - group.mean;
    return scale === 'none' ? centred : centred / ((scale === 'group' ? group : batch).deviation + EPSILON);
  });
  return {
    advantages,
    means: Float64Array.from(groups, (g) => g.mean),
    deviations: Float64Array.from(groups, (g) => g.deviation),
    zeroVariance: groups.filter((g) => g.equal).length / groups.length,
  };
}

/** Mean and deviation (ddof 1) of the values that are numbers; `equal` when none differ by more than rounding. */
export function statistics(values: Float64Array): { mean: number; deviation: number; equal: boolean } {
  const known = values.filter((x) => !Number.isNaN(x));
  const mean = known.reduce((a, b) => a + b, 0) / known.length;
  const [least, most] = known.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]);
  const equal = !(most - least > ROUNDING * Math.max(Math.abs(least), Math.abs(most)));
  if (equal) return { mean: known.length > 0 ? known[0]! : Number.NaN, deviation: 0, equal };
  const squares = known.reduce((sum, x) => sum + (x - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(squares / (known.length - 1)), equal };
}
