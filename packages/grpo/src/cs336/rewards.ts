import { type Tensor, tensor } from '@grpo/torch';
import { type AdvantageSettings, advantagesOf, statistics } from '../objective/index.js';
import { demand } from './inputs.js';

/** Scores one response: `reward` counts; other numbers, such as `formatReward`, are for the metadata. */
export type CS336RewardFn = (
  response: string,
  groundTruth: string,
) => { reward: number; [name: string]: number };

export interface GroupNormalizedRewardsOptions {
  rewardFn: CS336RewardFn;
  /** B responses, the groups one after another. */
  rolloutResponses: readonly string[];
  /** The ground truth of each response: B, each repeated for its group. */
  repeatedGroundTruths: readonly string[];
  /** G, responses to one question. */
  groupSize: number;
  /** Added to the deviation. */
  advantageEps: number;
  /** Divide by the group's standard deviation (with G − 1); only the mean is subtracted otherwise. */
  normalizeByStd: boolean;
}

export interface GroupNormalizedRewards {
  /** float32 `[B]`; `unsqueeze(1)` for the losses. */
  advantages: Tensor;
  /** float32 `[B]`. */
  rawRewards: Tensor;
  metadata: {
    /** Mean of `reward` and of every other number that `rewardFn` returns. */
    means: Record<string, number>;
    std: number;
    min: number;
    max: number;
    /** Share of the groups whose rewards are all equal: they teach nothing. */
    zeroVariance: number;
  };
}

const GROUP_MEAN: Omit<AdvantageSettings, 'scale' | 'epsilon'> = {
  baseline: 'group',
  ddof: 1,
  floor: 0,
  flatBelow: 0,
  weight: 1,
  flat: 'zero',
  whiten: false,
  combine: 'sum_then_normalize',
};

/**
 * Rewards, and how each compares with its group: (reward − mean) / (deviation + advantageEps). Computed in float64. A
 * group of equal rewards gets exactly 0, also where rounding of its mean would leave a little.
 *
 * @throws TypeError naming a missing input, or a response whose reward is no finite number; RangeError when the numbers
 * of responses, ground truths and groups do not fit
 *
 * @example
 * import { computeGroupNormalizedRewards } from 'grpo/cs336';
 *
 * const { advantages, metadata } = computeGroupNormalizedRewards({
 *   rewardFn: (response, groundTruth) => ({ reward: Number(response.includes(groundTruth)) }),
 *   rolloutResponses: ['It is 4.', 'It is 5.'],
 *   repeatedGroundTruths: ['4', '4'],
 *   groupSize: 2,
 *   advantageEps: 1e-6,
 *   normalizeByStd: false,
 * });
 * console.log(advantages.toNumbers(), metadata.means.reward); // [0.5, -0.5] 0.5
 */
export function computeGroupNormalizedRewards(
  options: GroupNormalizedRewardsOptions,
): GroupNormalizedRewards {
  const where = 'computeGroupNormalizedRewards';
  demand(
    where,
    options,
    'rewardFn',
    'rolloutResponses',
    'repeatedGroundTruths',
    'groupSize',
    'advantageEps',
    'normalizeByStd',
  );
  const { rolloutResponses: responses, repeatedGroundTruths: truths, groupSize, advantageEps } = options;
  if (responses.length !== truths.length)
    throw new RangeError(`${where}: ${responses.length} responses, but ${truths.length} ground truths`);
  const scores = responses.map((response, b) => options.rewardFn(response, truths[b]!));
  const broken = scores.findIndex(({ reward }) => !Number.isFinite(reward));
  if (broken >= 0)
    throw new TypeError(
      `${where}: the reward of response ${broken} is ${scores[broken]!.reward}, not a number`,
    );
  const rewards = Float64Array.from(scores, ({ reward }) => reward);
  const { advantages, zeroVariance } = advantagesOf(
    { columns: [rewards], weights: [1], totals: rewards },
    groupSize,
    { ...GROUP_MEAN, scale: options.normalizeByStd ? 'group' : 'none', epsilon: advantageEps },
  );
  const names = Object.keys(scores[0] ?? {});
  return {
    advantages: tensor(advantages, undefined, { dtype: 'float32' }),
    rawRewards: tensor(rewards, undefined, { dtype: 'float32' }),
    metadata: {
      means: Object.fromEntries(names.map((name) => [name, meanOf(scores.map((score) => score[name]!))])),
      std: statistics(rewards).deviation,
      min: rewards.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
      max: rewards.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
      zeroVariance,
    },
  };
}

const meanOf = (values: readonly number[]) => statistics(Float64Array.from(values)).mean;
