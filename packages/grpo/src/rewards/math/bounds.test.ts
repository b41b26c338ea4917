/** Hostile answers: refused in bounded work, without a throw. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assignmentEqual } from './assignment-equal.js';
import { questionOnlyReward, r1ZeroReward } from './graders.js';
import { mathEqual } from './math-equal.js';

const COUNT = Number(process.env.GRPO_FUZZ ?? 5000);
const long = 2 ** 16;

describe('a hostile answer', () => {
  it.each([
    ['64 KB of digits', '7'.repeat(long)],
    ['64 KB of spaces', ' '.repeat(long)],
    ['64 KB of one brace', '{'.repeat(long)],
    ['64 KB of \\frac', '\\frac'.repeat(long / 5)],
    ['64 KB of \\boxed{', '\\boxed{'.repeat(long / 7)],
    ['brackets nested 10,000 deep', `${'('.repeat(10_000)}5${')'.repeat(10_000)}`],
    ['fractions nested 10,000 deep', `${'\\frac{1}{'.repeat(10_000)}5${'}'.repeat(10_000)}`],
  ])('of %s is refused unread', (_, answer) => {
    expect(mathEqual(answer, '5')).toMatchObject({ equal: false, rule: 'answer too long' });
    expect(assignmentEqual(answer, '5', false)).toMatchObject({ equal: false, rule: 'answer too long' });
    expect(mathEqual('5', answer)).toMatchObject({ equal: false, rule: 'gold too long' });
    expect(r1ZeroReward(`x</think> <answer>${answer}</answer>`, '5').value).toBe(0);
    expect(questionOnlyReward(`\\boxed{${answer}`, '5').value).toBe(0);
  });

  it.each<[string, string, string, boolean?]>([
    ['brackets', `${'('.repeat(2000)}5${')'.repeat(2000)}`, 'nested too deep'],
    ['open brackets', '('.repeat(4000), 'nested too deep'],
    ['fractions', `${'\\frac{1}{'.repeat(350)}5${'}'.repeat(350)}`, 'nested too deep'],
    ['powers', '9^'.repeat(2000), 'nested too deep'],
    ['a tower', '9^{9^{9^{9^9}}}', 'different'],
    ['factorials', `5${'!'.repeat(4000)}`, 'nested too deep'],
    ['sets', `${'\\{1,'.repeat(400)}2${'\\}'.repeat(400)}`, 'nested too deep'],
    ['minus signs', `${'-'.repeat(4001)}5`, 'different'],
    ['functions', `${'\\sin'.repeat(900)} x`, 'nested too deep'],
    ['roots', `${'\\sqrt{'.repeat(500)}2${'}'.repeat(500)}`, 'nested too deep'],
    ['a large power', '2^{100000000}', 'different'],
    ['a large exponent', '1e9999', 'too much work'],
    ['a large factorial', '100000!', 'different'],
    ['a word', 'a'.repeat(4000), 'not mathematics'],
    ['backslashes', '\\'.repeat(4000), 'not mathematics'],
    ['units', `5${' cm'.repeat(1300)}`, 'different', true],
  ])('of many %s is refused', (_, answer, rule, assignment = false) => {
    expect(mathEqual(answer, '5')).toEqual({ equal: false, rule });
    // The assignment drops all units there are.
    expect(assignmentEqual(answer, '5', false).equal).toBe(assignment);
  });

  it('of a list that matches nothing costs no more than its budget', () => {
    const list = Array.from({ length: 700 }, (_, i) => `${i + 100}`);
    const turned = [...list.slice(0, -1), '99'].reverse();
    expect(mathEqual(list.join(), turned.join())).toEqual({ equal: false, rule: 'too much work' });
    const products = Array.from({ length: 300 }, (_, i) => `(x-\\sqrt{${i}})`).join('');
    expect(mathEqual(products, `${products}+1`).equal).toBe(false);
  });
});

const PIECES =
  '\\frac \\sqrt \\boxed { } ( ) [ ] \\{ \\} ^ _ + - * / = < > , ; : . ! % $ | & \\\\ \\pi \\infty \\cup \\pm \\sin \\log_ \\text{cm} \\begin{pmatrix} \\end{pmatrix} x y e i 0 1 2 12 0.5 1,000 1e9 cm degrees and or A Friday ° ² π − \u0000 🧮 ٣ \n'.split(
    /(?<=\S) /,
  );

describe(`${COUNT} random texts`, () => {
  const piece = fc.constantFrom(...PIECES);
  const text = fc.oneof(
    { weight: 8, arbitrary: fc.array(piece, { maxLength: 24 }).map((parts) => parts.join('')) },
    {
      weight: 1,
      arbitrary: fc.array(piece, { minLength: 200, maxLength: 900 }).map((parts) => parts.join('')),
    },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  );

  it('never throw, are equal to themselves, and in both directions or in none', () => {
    const symmetric = new Set(['same text', 'same number', 'same expression', 'same elements', 'same words']);
    let compared = 0;
    fc.assert(
      fc.property(text, text, (a, b) => {
        const [there, back] = [mathEqual(a, b), mathEqual(b, a)];
        if (symmetric.has(there.rule) || symmetric.has(back.rule)) expect(back.equal).toBe(there.equal);
        expect(typeof assignmentEqual(a, b, false).equal).toBe('boolean');
        const own = mathEqual(a, a);
        if (own.equal) compared++;
        else expect(['no gold', 'no answer']).toContain(own.rule);
        r1ZeroReward(`${a}</think> <answer>${b}</answer>`, a);
        questionOnlyReward(a, b);
      }),
      { seed: 7, numRuns: COUNT },
    );
    expect(compared).toBeGreaterThan(COUNT / 2);
  });

  it('are equal when only their looks differ', () => {
    const number = fc.integer({ min: 1, max: 999 });
    fc.assert(
      fc.property(number, number, number, (a, b, c) => {
        expect(mathEqual(`\\dfrac{${a * c}}{${b * c}}`, `$${a}/${b}$`).equal).toBe(true);
        expect(mathEqual(`${a}x^2+${b}x`, `x(${b} + ${a} \\cdot x)`).equal).toBe(true);
        expect(mathEqual(`${a}x^2+${b}x`, `x(${b} + ${a + 1} \\cdot x)`).equal).toBe(false);
        expect(mathEqual(`${c}\\sqrt{${a}}`, `\\sqrt{${c * c * a}}`).equal).toBe(true);
        expect(mathEqual(`(${a}, ${b}]`, `(${a}.0,${b}]`).equal).toBe(true);
        expect(mathEqual(`\\{${a},${b},${c}\\}`, `${c}, ${a}, ${b}`).equal).toBe(true);
      }),
      { seed: 11, numRuns: 200 },
    );
  });
});
