import { describe, expect, it } from 'vitest';
import { clusteredWilson, wilson } from '../maths/interval.js';
import type { EvalCompletion } from './eval-completion.js';
import { passAtKs, scoreOf } from './eval-score.js';

/** Of each problem its completions: right or not, tokens, cut or not, a graded reward and a number. */
const SAMPLES = [
  [
    [true, 10, false, 1, 0.5],
    [true, 14, false, 1, -2],
  ],
  [
    [true, 12, false, 1, 0.25],
    [false, 40, true, null, 1],
  ],
  [
    [false, 40, true, 0, 3],
    [false, 20, false, 0, null],
  ],
] as const;

const groups = SAMPLES.map((group, problem) =>
  group.map(([correct, length, cut, format, number], index): EvalCompletion => {
    return {
      decoding: 'sampled',
      problem,
      index,
      prompt: '',
      completion: '',
      finishReason: cut ? 'length' : 'stop',
      ids: Array<number>(length).fill(0),
      length,
      correct,
      reward: number,
      rewards: { format, number },
    };
  }),
);

describe('a score', () => {
  const score = scoreOf(groups, 1);

  it('has lengths of right and of wrong answers, in tokens', () => {
    expect(score.meanLength).toBeCloseTo(136 / 6, 12);
    expect(score.right).toEqual({ completions: 3, tokens: 36, meanLength: 12 });
    expect(score.wrong).toEqual({ completions: 3, tokens: 100, meanLength: 100 / 3 });
    const right = groups.slice(0, 1);
    expect(scoreOf(right, 0).wrong).toEqual({ completions: 0, tokens: 0, meanLength: null });
  });

  it('has Wilson’s interval on every share', () => {
    expect(score).toMatchObject({ accuracy: 0.5, correct: 3, total: 6, failed: 1 });
    expect(score).toMatchObject(clusteredWilson([2, 1, 0], [2, 2, 2]));
    const cut = clusteredWilson([0, 1, 1], [2, 2, 2]);
    expect([score.truncated, score.truncatedLow, score.truncatedHigh]).toEqual([1 / 3, cut.low, cut.high]);
    // A completion without an opinion is not in the share.
    expect(score.rewards.format).toEqual({ mean: 0.6, ...clusteredWilson([2, 1, 0], [2, 1, 2]) });
  });

  it('has the mean of any other reward over problems', () => {
    expect(score.rewards.number!.mean).toBeCloseTo((-0.75 + 0.625 + 3) / 3, 12);
    expect(score.reward).toBe(score.rewards.number!.mean);
    expect(score.rewards.number!.low).toBe(score.rewardLow);
    expect(score.rewardLow).toBeLessThan(-0.75);
  });
});

describe('pass@k of problems', () => {
  it('is the mean over problems, and pass@1 is the accuracy', () => {
    const score = scoreOf(groups, 0);
    const passed = passAtKs(groups, [1, 2]);
    expect(passed['1']).toEqual({ mean: 0.5, low: score.low, high: score.high });
    // With all samples a problem is solved or not: one observation each.
    expect(passed['2']!.mean).toBeCloseTo(2 / 3, 12);
    expect(passed['2']!.low).toBeCloseTo(wilson(2, 3).low, 12);
    expect(passed['2']!.high).toBeCloseTo(wilson(2, 3).high, 12);
  });
});
