import { expect, it } from 'vitest';
import { leastSquares } from './least-squares.js';

const columns = [
  [1, 2, 3, 4, 5],
  [2, -1, 0, 1, 3],
  [0, 0.5, 0.25, -2, 1],
];

it('finds the factors of a sum', () => {
  const values = columns[0]!.map((x, i) => 2 * x - 0.3 * columns[1]![i]! + 7 * columns[2]![i]!);
  const factors = leastSquares(values, columns);
  for (const [i, factor] of [2, -0.3, 7].entries()) expect(factors[i]).toBeCloseTo(factor, 10);
});

it('comes nearest: what is left is at right angles to each column', () => {
  const values = [3, 1, 4, 1, 5];
  const factors = leastSquares(values, columns);
  const left = values.map((value, i) => value - factors.reduce((sum, f, k) => sum + f * columns[k]![i]!, 0));
  for (const column of columns)
    expect(column.reduce((sum, x, i) => sum + x * left[i]!, 0)).toBeCloseTo(0, 10);
});

it('has no factors of columns that depend on each other', () => {
  const twice = columns[0]!.map((x) => 2 * x);
  expect(leastSquares([1, 2, 3, 4, 5], [columns[0]!, twice])).toEqual([Number.NaN, Number.NaN]);
});
