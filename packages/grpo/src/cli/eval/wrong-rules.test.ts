import { expect, it } from 'vitest';
import type { EvalCompletion } from '../../evaluation/eval-completion.js';
import { wrongRules } from './wrong-rules.js';

const completion = (correct: boolean | null, reward_rules?: Record<string, string>): EvalCompletion => ({
  decoding: 'greedy',
  problem: 0,
  index: 0,
  prompt: '',
  completion: '',
  correct,
  reward: 0,
  finishReason: 'stop',
  ids: [0],
  length: 1,
  rewards: {},
  ...(reward_rules && { reward_rules }),
});

it('counts the rules over wrong answers, the most frequent first', () => {
  const rules = ['a', 'b', 'b', 'c', 'd', 'e', 'f', 'b'];
  expect(
    wrongRules([
      ...rules.map((rule) => completion(false, { answer: rule, format: 'no <think>' })),
      completion(true, { answer: 'equal' }),
      completion(null, { answer: 'unknown' }),
      completion(false),
    ]),
  ).toEqual(['  answer: b (3), a (1), c (1), d (1), 2 more rules', '  format: no <think> (8)']);
});

it('says nothing where no rule is known', () => {
  expect(wrongRules([completion(false), completion(null)])).toEqual([]);
});
