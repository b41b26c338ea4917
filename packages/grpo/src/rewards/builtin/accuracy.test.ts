import { describe, expect, it } from 'vitest';
import { accuracy, statedAnswer } from './accuracy.js';

describe('statedAnswer', () => {
  it.each<[string, string | null]>([
    ['so \\boxed{72}.', '72'],
    ['\\boxed{1} or \\boxed{\\frac{1}{2}}', '\\frac{1}{2}'],
    ['<think>\\boxed{1}</think> \\boxed{2}', '2'],
    ['<think>\\boxed{1}</think> no', null],
    ['<think>1</think> <answer> 72 </answer>', '72'],
    ['<answer>1</answer> <answer>2</answer>', '2'],
    ['<answer>\\boxed{3}</answer>', '3'],
    ['<answer>72', null],
    ['72</answer>', null],
    ['72', null],
    ['', null],
  ])('of %j is %j', (text, answer) => {
    expect(statedAnswer(text)).toBe(answer);
  });
});

describe('accuracy', () => {
  const score = (completion: string, row: unknown) =>
    accuracy('gold')({ prompts: ['p'], completions: [completion], rows: [row] });

  it.each<[string, unknown, number | null]>([
    ['\\boxed{72}', { gold: 72 }, 1],
    ['\\boxed{72.0}', { gold: 'so 7*10+2 #### 72' }, 1],
    ['\\boxed{1,000}', { gold: 'it is \\boxed{1000}' }, 1],
    ['\\boxed{\\frac{1}{2}}', { gold: 'then \\boxed{0.5}' }, 1],
    ['\\boxed{x+1}', { gold: '$1+x$' }, 1],
    ['\\boxed{71}', { gold: '72' }, 0],
    ['72', { gold: '72' }, 0],
    ['', { gold: '72' }, 0],
    ['\\boxed{}', { gold: '' }, null],
    ['\\boxed{1}', { gold: '1'.repeat(100_000) }, null],
    ['\\boxed{72}', {}, null],
    ['\\boxed{72}', null, null],
  ])('%j for %j: %j', async (completion, row, value) => {
    expect(await score(completion, row)).toEqual([{ value, rule: expect.stringMatching(/\w/) }]);
  });
});
