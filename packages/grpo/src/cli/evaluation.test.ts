import { describe, expect, it } from 'vitest';
import type { Difference } from '../evaluation/difference.js';
import type { Score } from '../evaluation/eval-score.js';
import type { EvalResult } from '../evaluation/evaluate.js';
import {
  evaluationTable,
  exampleLabel,
  fewProblems,
  formatDifference,
  formatEvaluation,
} from './evaluation.js';

const SCORE: Score = {
  accuracy: 0.8,
  low: 0.49,
  high: 0.943,
  correct: 8,
  total: 10,
  reward: 0.88,
  rewardLow: 0.6,
  rewardHigh: 1.16,
  meanLength: 12.345,
  right: { completions: 8, tokens: 80, meanLength: 10 },
  wrong: { completions: 2, tokens: 43, meanLength: 21.5 },
  truncated: 0.1,
  truncatedLow: 0.018,
  truncatedHigh: 0.404,
  rewards: { answer: { mean: 0.8, low: 0.49, high: 0.943 }, tone: { mean: -0.25, low: null, high: null } },
  failed: 0,
};
const UNGRADED: Score = {
  ...SCORE,
  accuracy: null,
  low: null,
  high: null,
  correct: null,
  right: null,
  wrong: null,
};
const RESULT: EvalResult = { problems: 10, greedy: SCORE, completions: [], examples: [], failures: [] };
const FAILURE = { reward: 'mine', index: 2, affected: 1, prompt: '"p"', completion: '"c"', reason: 'no' };

describe('formatEvaluation', () => {
  it('shows accuracy where the task can tell', () => {
    expect(formatEvaluation('before', { ...RESULT, sampled: SCORE })).toBe(
      'accuracy before, 10 problems: greedy 80.0% (49.0–94.3%), length 12.3, cut 10.0%; sampled 80.0% (49.0–94.3%), length 12.3, cut 10.0%',
    );
  });

  it('shows the reward where it cannot', () => {
    expect(formatEvaluation('before', { ...RESULT, greedy: UNGRADED })).toBe(
      'reward before, 10 problems: greedy 0.880 (0.600–1.160), length 12.3, cut 10.0%',
    );
    const few = { ...UNGRADED, rewardLow: null, rewardHigh: null };
    expect(formatEvaluation('before', { ...RESULT, greedy: few })).toContain('greedy 0.880, length');
    const none = { ...few, reward: null };
    expect(formatEvaluation('before', { ...RESULT, greedy: none })).toContain('greedy none, length');
  });

  it('tells of rewards that failed', () => {
    const text = formatEvaluation('before', { ...RESULT, failures: [FAILURE] });
    expect(text.split('\n').slice(1)).toEqual([
      'reward mine, completion 2: no',
      '  prompt: "p"',
      '  completion: "c"',
    ]);
  });
});

describe('the table', () => {
  const decoded = { samples: 4, temperature: 0.8, maxNewTokens: 40 };

  it('has a column a decoding and a row a number', () => {
    const passAtK = { '1': { mean: 0.8, low: 0.49, high: 0.943 }, '4': { mean: 1, low: 0.722, high: 1 } };
    expect(
      evaluationTable({ ...RESULT, sampled: SCORE, passAtK, failures: [FAILURE] }, decoded),
    ).toMatchInlineSnapshot(`
      "10 held-out problems; in brackets 95 % intervals

                           greedy                4 sampled, temperature 0.8
      accuracy             80.0% (49.0–94.3%)    80.0% (49.0–94.3%)
      pass@1                                     80.0% (49.0–94.3%)
      pass@4                                     100.0% (72.2–100.0%)
      reward               0.880 (0.600–1.160)   0.880 (0.600–1.160)
        answer             0.800 (0.490–0.943)   0.800 (0.490–0.943)
        tone               -0.250                -0.250
      tokens, mean         12.3                  12.3
        of right answers   10.0 (of 8)           10.0 (of 8)
        of wrong answers   21.5 (of 2)           21.5 (of 2)
      cut at 40 tokens     10.0% (1.8–40.4%)     10.0% (1.8–40.4%)

      reward mine, completion 2: no
        prompt: "p"
        completion: "c""
    `);
  });

  it('claims no accuracy where the task cannot tell', () => {
    const greedy = { ...UNGRADED, rewards: { mine: null }, reward: null };
    expect(evaluationTable({ ...RESULT, greedy }, decoded)).toMatchInlineSnapshot(`
      "10 held-out problems; in brackets 95 % intervals

                         greedy
      reward             none
        mine             none
      tokens, mean       12.3
      cut at 40 tokens   10.0% (1.8–40.4%)"
    `);
  });
});

describe('too few problems', () => {
  it('are told with the width of the interval and the number that would do', () => {
    expect(fewProblems({ ...RESULT, problems: 200 })).toBeUndefined();
    expect(fewProblems({ ...RESULT, problems: 199 })).toBe(
      'Only 199 problems to evaluate on: the 95 % interval of the accuracy is 45 points wide. To tell two models 5 points apart takes about 1400 problems. eval.limit and task.evalSize (or the rows of task.evalData) set how many there are.',
    );
  });

  it('say nothing of accuracy where the task cannot tell', () => {
    const text = fewProblems({ ...RESULT, greedy: UNGRADED });
    expect(text).toContain(
      'Only 10 problems to evaluate on (greedy): the 95 % interval of the mean reward is 0.560 wide.',
    );
    expect(text).not.toContain('accuracy');
    const one = { ...RESULT, problems: 1, greedy: { ...UNGRADED, rewardLow: null, rewardHigh: null } };
    expect(fewProblems(one)).toContain('Only 1 problem to evaluate on (greedy): all of them earn the same');
  });
});

describe('a difference', () => {
  const difference: Difference = {
    of: 'accuracy',
    mean: -0.04,
    low: -0.0591,
    high: 0.0213,
    better: 86,
    worse: 150,
  };

  it('is in points of accuracy, or in rewards', () => {
    expect(formatDifference('greedy', difference)).toBe(
      'greedy: accuracy −4.0 points (−5.9 to +2.1); better at 86 problems, worse at 150',
    );
    expect(formatDifference('sampled', { ...difference, of: 'reward', low: null, high: null })).toBe(
      'sampled: reward −0.040; better at 86 problems, worse at 150',
    );
    expect(formatDifference('greedy', { ...difference, better: 1 })).toContain('better at 1 problem, worse');
    expect(formatDifference('greedy', null)).toBe('greedy: no problem has a reward from both');
  });
});

describe('exampleLabel', () => {
  it.each([
    [true, 1.1, 'right'],
    [false, 0.1, 'wrong'],
    [null, 0.25, 'reward 0.250'],
    [null, null, 'no reward'],
  ])('of %j and %j', (correct, reward, label) => {
    expect(exampleLabel({ prompt: 'p', completion: 'c', correct, reward })).toBe(label);
  });
});
