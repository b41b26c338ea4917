import { describe, expect, it } from 'vitest';
import { differenceOf } from './difference.js';
import type { EvalCompletion } from './eval-completion.js';

function completion(problem: number, fields: Partial<EvalCompletion>): EvalCompletion {
  return {
    decoding: 'greedy',
    problem,
    index: 0,
    prompt: '',
    completion: '',
    finishReason: 'stop',
    ids: [0],
    length: 1,
    correct: null,
    reward: null,
    rewards: {},
    ...fields,
  };
}

const graded = (correct: readonly boolean[]) => correct.map((right, i) => completion(i, { correct: right }));
const rewarded = (rewards: readonly (number | null)[]) =>
  rewards.map((reward, i) => completion(i, { reward }));

describe('the difference of two evaluations', () => {
  it('is that of matched pairs', () => {
    // Approval of a prime minister by 1600 people, asked twice: Agresti, Categorical Data Analysis, section 10.1:
    // 794 yes and yes, 150 yes and no, 86 no and yes, 570 no and no; −0.04 with the interval (−0.059, −0.021).
    const cells: [number, boolean, boolean][] = [
      [794, true, true],
      [150, true, false],
      [86, false, true],
      [570, false, false],
    ];
    const pairs = cells.flatMap(([count, first, second]) => Array(count).fill([first, second]));
    const first = graded(pairs.map(([before]) => before));
    const second = graded(pairs.map(([, after]) => after));
    const difference = differenceOf(second, first, 'greedy')!;
    expect(difference).toMatchObject({ of: 'accuracy', mean: -0.04, better: 86, worse: 150 });
    expect(difference.low!.toFixed(3)).toBe('-0.059');
    expect(difference.high!.toFixed(3)).toBe('-0.021');
  });

  it('takes a problem’s several completions together, and only of the decoding asked for', () => {
    const one = [0, 1, 2].flatMap((problem) => [
      completion(problem, { correct: false }),
      ...[true, problem > 0].map((correct) => completion(problem, { correct, decoding: 'sampled' })),
    ]);
    const other = [0, 1, 2].flatMap((problem) =>
      [false, false].map((correct) => completion(problem, { correct, decoding: 'sampled' })),
    );
    expect(differenceOf(one, other, 'sampled')).toMatchObject({ mean: 2.5 / 3, better: 3, worse: 0 });
  });

  it('is of rewards where nothing is graded, on the problems that have one from both', () => {
    const difference = differenceOf(rewarded([1, null, 3, 0.5]), rewarded([0.5, 1, null, 1.5]), 'greedy');
    expect(difference).toEqual({ of: 'reward', mean: -0.25, low: null, high: null, better: 1, worse: 1 });
    expect(differenceOf(rewarded([null]), rewarded([1]), 'greedy')).toBeNull();
  });
});
