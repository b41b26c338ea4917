import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { workColumns } from './columns.js';

describe('workColumns', () => {
  it.each([
    [[27, 45], '7+5+0=12;2+4+1=07', 72],
    [[5, 99], '5+9+0=14;0+9+1=10', 104],
    [[52, -27], '12-7=5;4-2=2', 25],
    [[27, -52], '12-7=5;4-2=2', -25],
    [[100, -1], '10-1=9;9-0=9;0-0=0', 99],
    [[3, -5, 9], '5-3=2 9-2=7', 7],
    [[3, -5, -9], '5-3=2 2+9+0=11', -11],
    [[0, -5], '0+5+0=05', -5],
  ])('works %j as %s', (terms, work, result) => {
    expect(workColumns(terms)).toEqual({ work, result });
  });

  it.each([
    [[27, 45], '7+5+0=12;2+4+0=06', 62],
    [[77, 45], '7+5+0=12;7+4+0=11', 12],
    [[52, -27], '12-7=5;5-2=3', 35],
  ])('forgets the carries of %j on request', (terms, work, result) => {
    expect(workColumns(terms, () => true)).toEqual({ work, result });
  });

  it('writes only true columns, and the result is read off the last step', () => {
    const term = fc.integer({ min: -9999, max: 9999 });
    fc.assert(
      fc.property(fc.array(term, { minLength: 2, maxLength: 4 }), (terms) => {
        const { work, result } = workColumns(terms);
        expect(result).toBe(terms.reduce((a, b) => a + b, 0));
        for (const column of work.split(/[; ]/)) {
          const [, a, sign, b, carry, value] = /^(\d+)([+-])(\d+)(?:\+([01]))?=(\d+)$/.exec(column)!;
          const right = sign === '+' ? Number(a) + Number(b) + Number(carry) : Number(a) - Number(b);
          expect(Number(value)).toBe(right);
        }
        const columns = work.split(' ').at(-1)!.split(';');
        const digits = columns.map((column) => column.split('=')[1]!);
        // All but the last column leave their units; the last one is written whole.
        const read = digits.reverse().map((d, i) => (i === 0 ? d : d.slice(-1)));
        expect(Number(read.join(''))).toBe(Math.abs(result));
      }),
    );
  });
});
