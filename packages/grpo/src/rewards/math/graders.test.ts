import { describe, expect, it } from 'vitest';
import { lastBoxed } from './boxed.js';
import { questionOnlyReward, r1ZeroReward } from './graders.js';
import { repetition } from './repetition.js';

const r1 = (answer: string) => `so it is</think> <answer>${answer}</answer>`;
const parts = (format: number, answer: number) => ({ format_reward: format, answer_reward: answer });

describe('r1ZeroReward', () => {
  it.each([
    ['right', r1('0.5'), '\\frac{1}{2}', 1, 1, 'same text'],
    ['wrong: the format alone earns nothing', r1('0.4'), '\\frac{1}{2}', 1, 0, 'different'],
    ['without a space between the tags', 'x</think><answer>5</answer>', '5', 0, 0, 'no </think> <answer>'],
    ['with two spaces', 'x</think>  <answer>5</answer>', '5', 0, 0, 'no </think> <answer>'],
    ['with a line between', 'x</think>\n<answer>5</answer>', '5', 0, 0, 'no </think> <answer>'],
    ['without its stop string', 'x</think> <answer>5', '5', 0, 0, 'no </answer>'],
    ['without any tag', '5', '5', 0, 0, 'no </think> <answer>'],
    ['empty', '', '5', 0, 0, 'no </think> <answer>'],
    ['with an empty answer', r1(''), '5', 1, 0, 'no answer'],
    ['by its last answer', `${r1('4')} <answer>5</answer>`, '5', 1, 1, 'same text'],
    ['in a box', r1('it is $\\boxed{5}$'), '5', 1, 1, 'same text'],
    ['by its last box', r1('\\boxed{5}, no, \\boxed{6}'), '5', 1, 0, 'different'],
    ['in a box that never closes', r1('\\boxed{5'), '5', 1, 0, 'no \\boxed{…}'],
    ['with a boxed gold', r1('5'), '\\boxed{5}', 1, 1, 'same text'],
    ['with text behind', `${r1('5')} and more`, '5', 1, 0, 'whole number against another'],
  ] as const)('grades a response %s', (_, response, gold, format, answer, rule) => {
    expect(r1ZeroReward(response, gold)).toEqual({ value: answer, parts: parts(format, answer), rule });
  });

  it('takes a number or several golds, of which any will do', () => {
    expect(r1ZeroReward(r1('5'), 5).value).toBe(1);
    expect(r1ZeroReward(r1('2.50'), 2.5).value).toBe(1);
    expect(r1ZeroReward(r1('5'), ['4', '\\boxed{5}', 6]).value).toBe(1);
    expect(r1ZeroReward(r1('7'), ['4', 5]).value).toBe(0);
    expect(r1ZeroReward(r1('7'), [])).toMatchObject({ value: 0, rule: 'no gold' });
  });

  it('compares more when it need not be fast', () => {
    const grade = (answer: string, gold: string) => [
      r1ZeroReward(r1(answer), gold).value,
      r1ZeroReward(r1(answer), gold, { fast: false }).value,
    ];
    expect(grade('2/4', '1/2')).toEqual([0, 1]);
    expect(grade('\\{2,1\\}', '\\{1,2\\}')).toEqual([0, 1]);
    expect(grade('\\cos 2x', '1-2\\sin^2 x')).toEqual([0, 1]);
    expect(grade('3', '1-2\\sin^2 x')).toEqual([0, 0]);
  });

  it('refuses an answer that repeats itself, however it may be equal', () => {
    const zeros = '+0'.repeat(80);
    expect(r1ZeroReward(r1(`2/4${zeros}`), '0.5001', { fast: false }).rule).toBe('repetitive');
    expect(r1ZeroReward(r1(`\\cos 2x${zeros}`), '1-2\\sin^2 x', { fast: false }).rule).toBe('repetitive');
    expect(r1ZeroReward(r1(`\\cos 2x${zeros.slice(0, 60)}`), '1-2\\sin^2 x', { fast: false }).value).toBe(1);
  });

  it('does not credit blanks, copies of the prompt, all options or another gold', () => {
    for (const answer of [
      '',
      ' ',
      'What is 2+2?',
      '4, 5, 6',
      '(A) (B) (C) (D)',
      '4 or 5',
      '\\{4,5\\}',
      '44',
      '4 4',
    ])
      for (const fast of [true, false]) expect(r1ZeroReward(r1(answer), '4', { fast }).value).toBe(0);
    for (const fast of [true, false])
      expect(r1ZeroReward(r1('A or B or C or D'), 'B', { fast }).value).toBe(0);
  });
});

describe('questionOnlyReward', () => {
  it.each([
    ['right', 'It is \\boxed{\\frac{1}{2}}.', '0.5', 1, 1],
    ['wrong', 'It is \\boxed{1}.', '0.5', 1, 0],
    ['by its last box', '\\boxed{1} then \\boxed{2}', '2', 1, 1],
    ['without a box', 'It is 0.5.', '0.5', 0, 0],
    ['with a box that never closes', '\\boxed{0.5', '0.5', 0, 0],
    ['with an empty box', '\\boxed{}', '5', 1, 0],
  ] as const)('grades a response %s', (_, response, gold, format, answer) => {
    expect(questionOnlyReward(response, gold)).toMatchObject({ value: answer, parts: parts(format, answer) });
  });
});

describe('lastBoxed', () => {
  it.each([
    ['\\boxed{a{b}c}', 'a{b}c'],
    ['\\boxed{1}\\fbox{2}', '2'],
    ['$\\boxed 5$', '5'],
    ['\\boxed {5}', '5'],
    ['\\boxed{}', ''],
    ['\\boxed', null],
    ['\\boxed{', null],
    ['none', null],
    [`\\boxed{${'{'.repeat(1e5)}`, null],
  ])('of %.30s', (text, inside) => {
    expect(lastBoxed(text)).toBe(inside);
  });
});

describe('repetition', () => {
  it('is the share of substrings that are repeats', () => {
    expect(repetition('')).toBe(0);
    expect(repetition('abcdef')).toBe(0);
    // a, b, ab, ba, aba, bab, abab of 10.
    expect(repetition('abab')).toBeCloseTo(0.3, 12);
    expect(repetition('a'.repeat(199))).toBeCloseTo(1 - 199 / ((199 * 200) / 2), 12);
  });

  it('counts as one that lists all of them', () => {
    for (let k = 0; k < 100; k++) {
      const text = Array.from({ length: k % 17 }, (_, i) => 'abc'[(k * 7 + i * i + ((i * k) >> 2)) % 3]).join(
        '',
      );
      const all = [...text].flatMap((_, i) => [...text.slice(i)].map((_, n) => text.slice(i, i + n + 1)));
      expect(repetition(text)).toBeCloseTo(all.length < 2 ? 0 : 1 - new Set(all).size / all.length, 12);
    }
  });
});
