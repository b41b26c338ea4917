import { describe, expect, it } from 'vitest';
import { fixture, isClose, STRICT } from './fixture.test.helper.js';
import { computeGroupNormalizedRewards, type GroupNormalizedRewardsOptions } from './index.js';

const { rewards, groupSize, advantageEps, byStd, byMean } = fixture.groups;
const texts = rewards.map((_, b) => `response ${b}`);

const options: GroupNormalizedRewardsOptions = {
  rewardFn: (response, truth) => ({
    reward: rewards[texts.indexOf(response)]!,
    formatReward: Number(truth),
  }),
  rolloutResponses: texts,
  repeatedGroundTruths: texts.map((_, b) => String(b % 2)),
  groupSize,
  advantageEps,
  normalizeByStd: true,
};

describe('computeGroupNormalizedRewards', () => {
  it("gives the assignment's advantages", () => {
    const { advantages, rawRewards, metadata } = computeGroupNormalizedRewards(options);
    expect(isClose(advantages.toNumbers(), byStd, STRICT)).toBe(true);
    expect(isClose(rawRewards.toNumbers(), rewards, STRICT)).toBe(true);
    const page = [-0.3382, 1.0147, -1.2402, 0.5637, 1.0706, 0.5948, -0.5948, -1.0706];
    expect(isClose(advantages.toNumbers(), page, { relative: 0, absolute: 0.51e-4 })).toBe(true);
    expect(metadata.means.reward).toBeCloseTo(2.9 / 8, 12);
    expect(metadata).toMatchObject({ means: { formatReward: 0.5 }, min: 0, max: 0.9, zeroVariance: 0 });
    const plain = computeGroupNormalizedRewards({ ...options, normalizeByStd: false }).advantages;
    expect(isClose(plain.toNumbers(), byMean, STRICT)).toBe(true);
  });

  it('would notice zeros', () => {
    const zeros = rewards.map(() => 0);
    for (const expected of [byStd, byMean, rewards]) expect(isClose(zeros, expected, STRICT)).toBe(false);
  });

  it('gives equal rewards exactly 0', () => {
    const { advantages, metadata } = computeGroupNormalizedRewards({
      ...options,
      rewardFn: () => ({ reward: 0.2 }),
    });
    expect(advantages.toNumbers()).toEqual(rewards.map(() => 0));
    expect(metadata).toMatchObject({ zeroVariance: 1, std: 0 });
  });

  it('refuses what does not fit', () => {
    const given = (changes: Partial<GroupNormalizedRewardsOptions>) => () =>
      computeGroupNormalizedRewards({ ...options, ...changes });
    expect(given({ groupSize: 3 })).toThrow('8 rewards do not divide into groups of 3');
    expect(given({ repeatedGroundTruths: ['4'] })).toThrow('8 responses, but 1 ground truths');
    expect(given({ rewardFn: () => ({ reward: Number.NaN }) })).toThrow(
      'the reward of response 0 is NaN, not a number',
    );
  });
});
