import { describe, expect, it } from 'vitest';
import { UserError } from '../../errors/user-error.js';
import { totals } from '../../rewards/reward-table.js';
import { scoreCompletions } from '../../rewards/score.js';
import { type ArithmeticOptions, arithmeticTask } from './task.js';

const families: Partial<ArithmeticOptions>[] = [
  {},
  { operands: 3, operators: ['+', '-'], max: 20 },
  { operators: ['-'], min: 100, max: 999 },
];

/** The sum, from the text alone. */
const evaluate = (expression: string) =>
  [...expression.matchAll(/[+-]?\d+/g)].reduce((sum, [term]) => sum + Number(term), 0);

describe('arithmeticTask', () => {
  it.each(families)('makes different problems with right answers in the family %j', (family) => {
    const task = arithmeticTask({ ...family, trainSize: 500, evalSize: 100 });
    const problems = [...task.train, ...task.eval];
    expect([task.train.length, task.eval.length]).toEqual([500, 100]);
    expect(new Set(problems.map((p) => p.prompt)).size).toBe(600);
    for (const { prompt, row, demonstration } of problems) {
      expect(prompt).toBe(`${row.question}=`);
      expect(String(row.question)).toMatch(/^\d+([+-]\d+)+$/);
      expect(Number(row.answer)).toBe(evaluate(String(row.question)));
      expect(task.isCorrect!(demonstration!, row)).toBe(true);
    }
    expect(new Set(problems.map((p) => String(p.row.question).replace(/\d/g, ''))).size).toBe(
      (family.operators?.length ?? 1) ** ((family.operands ?? 2) - 1),
    );
  });

  it('draws operands evenly from the whole range', () => {
    const { train } = arithmeticTask({ trainSize: 3000, min: 0, max: 99 });
    const firsts = train.map((p) => Number.parseInt(String(p.prompt), 10));
    expect(Math.min(...firsts)).toBe(0);
    expect(Math.max(...firsts)).toBe(99);
    expect(firsts.reduce((a, b) => a + b, 0) / 3000).toBeGreaterThan(47.5);
    expect(firsts.reduce((a, b) => a + b, 0) / 3000).toBeLessThan(51.5);
  });

  it('follows the seed in training only: the held-out problems stay', () => {
    const [a, again, b] = [1, 1, 2].map((seed) => arithmeticTask({ seed, trainSize: 50, slips: 0.5 }));
    expect(again!.train).toEqual(a!.train);
    expect(b!.train).not.toEqual(a!.train);
    expect(b!.eval).toEqual(a!.eval);
    expect(arithmeticTask({ trainSize: 3000 }).eval).toEqual(a!.eval);
  });

  it('can use up the family', () => {
    const task = arithmeticTask({ min: 0, max: 9, trainSize: 80, evalSize: 20 });
    expect(new Set([...task.train, ...task.eval].map((p) => p.prompt)).size).toBe(100);
  });

  it('forgets the asked share of carries in demonstrations, never of held-out problems, and never in the row', () => {
    const task = arithmeticTask({ slips: 0.3, trainSize: 2000 });
    // Where only the units carry, a demonstration is wrong exactly when that carry is forgotten.
    const carrying = task.train.filter(({ row }) => {
      const [a, b] = String(row.question).split('+').map(Number) as [number, number];
      return (a % 10) + (b % 10) > 9 && a + b < 100;
    });
    const wrong = carrying.filter((p) => !task.isCorrect!(p.demonstration!, p.row));
    // Five standard errors.
    expect(Math.abs(wrong.length / carrying.length - 0.3)).toBeLessThan(
      5 * Math.sqrt((0.3 * 0.7) / carrying.length),
    );
    expect(task.eval.every((p) => task.isCorrect!(p.demonstration!, p.row))).toBe(true);
    expect(task.train.every((p) => Number(p.row.answer) === evaluate(String(p.row.question)))).toBe(true);
  });

  it('rewards answer and format', async () => {
    const { rewards, eval: held, stop } = arithmeticTask({ trainSize: 1 });
    const { prompt, row, demonstration } = held[0]!;
    const completions = [
      demonstration!,
      '<think></think><answer>-1</answer>',
      `<answer>${row.answer}</answer>`,
      String(row.answer),
      '',
      String(prompt),
      `<think></think><answer>${Array.from({ length: 200 }, (_, i) => i).join(' ')}</answer>`,
    ];
    const batch = { prompts: completions.map(() => prompt), completions, rows: completions.map(() => row) };
    const table = await scoreCompletions(rewards, batch, { onError: 'stop' });
    expect(table.names).toEqual(['answer', 'format']);
    expect([...totals(table)]).toEqual([1.1, 0.1, 0, 0, 0, 0, 0.1]);
    expect(demonstration!.endsWith(stop[0]!)).toBe(true);
  });

  it.each([
    [{ min: 0, max: 3 }, 'only 16 different problems from 0 to 3, 6000 to train on and 200 held out'],
    [{ operands: 1 }, 'operands must be at least 2'],
    [{ min: 5, max: 4 }, 'max (4) must not be below min (5)'],
    [{ slips: 1.5 }, 'slips must be between 0 and 1, found 1.5'],
    [{ slips: Number.NaN }, 'slips must be between 0 and 1'],
    [{ trainSize: 0.5 }, 'trainSize must be a whole number >= 0, found 0.5'],
    [{ operators: [] }, 'operators must name'],
  ])('refuses %j', (options, message) => {
    expect(() => arithmeticTask(options)).toThrow(UserError);
    expect(() => arithmeticTask(options)).toThrow(message);
  });
});
