import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { workOut } from './expression.js';
import { gradeCountdown } from './grade.js';

const problem = { nums: [3, 5, 7, 7], target: 36 };
const ruleOf = (answer: string, asked = problem) => gradeCountdown(answer, asked).rule;

describe('gradeCountdown', () => {
  it.each([
    '3 * (5 + 7)',
    '(7+5)*3',
    '3*(5+7) = 36',
    ' 3 × (7 + 5)=36 ',
    '-(5+7)*-3',
    '(3*5+3*7)'.replace('3*7', '21'),
  ])('%s', (answer) => {
    const asked = { nums: answer.includes('21') ? [3, 5, 21] : [3, 5, 7], target: 36 };
    expect(gradeCountdown(answer, asked)).toEqual({
      correct: true,
      rule: 'makes the target',
      parts: { numbers: 1, target: 1 },
    });
  });

  it('is exact: 8 / (3 − 8 / 3) is 24, and 0.1 short is not', () => {
    expect(ruleOf('8 / (3 - 8 / 3)', { nums: [8, 8, 3, 3], target: 24 })).toBe('makes the target');
    expect(ruleOf('1/3+1/3+1/3', { nums: [1, 1, 1, 3, 3, 3], target: 1 })).toBe('makes the target');
    expect(ruleOf('99999999 * 99999999', { nums: [99999999, 99999999], target: 9999999800000000 })).toBe(
      'another value',
    );
  });

  it.each([
    ['3 * (5 + 7)', 'a number left out', 0, 1],
    ['3 * (5 + 7) + 7 - 7', 'a number too often', 0, 1],
    ['36', 'a number that is not given', 0, 1],
    ['35 + 7 / 7', 'a number that is not given', 0, 1],
    ['3 + 5 + 7 + 7', 'another value', 1, 0],
    ['7 / (5 - 3 - 7 + 5)', 'division by zero', 0, 0],
    ['(3 * (5 + 7) = 36', 'not an expression', 0, 0],
    ['3 * (5 + 7) = 36 = 36', 'two equal signs', 0, 0],
    ['x = 3 * (5 + 7)', 'not an expression', 0, 0],
    ['3 ** 5', 'not an expression', 0, 0],
    ['7 // 5', 'not an expression', 0, 0],
    ['3.0 * 12', 'not an expression', 0, 0],
    ['process.exit()', 'not an expression', 0, 0],
    ['', 'not an expression', 0, 0],
    ['3 5 7 7', 'not an expression', 0, 0],
    ['()', 'not an expression', 0, 0],
    [`${'('.repeat(60)}3${')'.repeat(60)}`, 'nested too deep', 0, 0],
    [`${'-'.repeat(60)}3`, 'nested too deep', 0, 0],
    [`${'7+'.repeat(32000)}7`, 'too long', 0, 0],
    [Array(20).fill('9'.repeat(20)).join('*'), 'too large a number', 0, 0],
  ])('%s: %s', (answer, rule, numbers, target) => {
    expect(gradeCountdown(answer, problem)).toEqual({ correct: false, rule, parts: { numbers, target } });
  });

  it('says when only the right side is wrong', () => {
    const asked = { nums: [3, 5, 7], target: 36 };
    expect(ruleOf('3*(5+7) = 35', asked)).toBe('the right side is not the target');
    expect(ruleOf('3*(5+7) = 6*6', asked)).toBe('the right side is not the target');
    expect(ruleOf('3*(5+7) =', asked)).toBe('the right side is not the target');
  });
});

describe('workOut', () => {
  it('shows each operation in the order of working it out', () => {
    expect(workOut('2 * (7 - 3 - 1) / 4')).toMatchObject({
      value: { n: 3n, d: 2n },
      numbers: [2n, 7n, 3n, 1n, 4n],
      steps: ['7-3=4', '4-1=3', '2*3=6', '6/4=3/2'],
    });
  });

  it('agrees with JavaScript on random expressions of small numbers', () => {
    const { expression } = fc.letrec<{ expression: string; leaf: string }>((tie) => ({
      leaf: fc.integer({ min: 0, max: 9 }).map(String),
      expression: fc.oneof(
        { maxDepth: 4 },
        tie('leaf'),
        fc
          .tuple(tie('expression'), fc.constantFrom('+', '-', '*', '/'), tie('expression'), fc.boolean())
          .map(([a, operator, b, closed]) => (closed ? `(${a}${operator}${b})` : `${a} ${operator} ${b}`)),
      ),
    }));
    fc.assert(
      fc.property(expression, (text) => {
        const worked = workOut(text);
        const expected = Number(new Function(`return ${text}`)());
        if (!('unreadable' in worked)) {
          const { n, d } = worked.value;
          expect(Number(n) / Number(d)).toBeCloseTo(expected, 6);
        } else if (worked.unreadable === 'division by zero')
          // In JavaScript only a second division leads back from infinity.
          expect(Number.isFinite(expected) && text.split('/').length < 3).toBe(false);
        else expect(['too long', 'nested too deep']).toContain(worked.unreadable);
      }),
      { numRuns: 500 },
    );
  });

  it('ends for 5000 strings of its own characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789+-*/() =×'), maxLength: 600 }), (text) => {
        workOut(text);
      }),
      { numRuns: 5000 },
    );
  });
});
