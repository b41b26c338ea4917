import { describe, expect, it } from 'vitest';
import type { EvalResult } from '../train/index.js';
import { exampleLabel, formatEvaluation } from './evaluation.js';

const SCORE: EvalResult['greedy'] = {
  accuracy: 0.8,
  low: 0.49,
  high: 0.943,
  correct: 8,
  total: 10,
  reward: 0.88,
  rewardLow: 0.6,
  rewardHigh: 1.16,
  meanLength: 12.345,
  truncated: 0.1,
  rewards: { answer: 0.8 },
  failed: 0,
};
const UNGRADED = { ...SCORE, accuracy: null, low: null, high: null, correct: null };
const RESULT: EvalResult = { problems: 10, greedy: SCORE, examples: [], failures: [] };

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
    const failure = { reward: 'mine', index: 2, affected: 1, prompt: '"p"', completion: '"c"', reason: 'no' };
    const text = formatEvaluation('before', { ...RESULT, failures: [failure] });
    expect(text.split('\n').slice(1)).toEqual([
      'reward mine, completion 2: no',
      '  prompt: "p"',
      '  completion: "c"',
    ]);
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
