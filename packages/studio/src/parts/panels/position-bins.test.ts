import { expect, it } from 'vitest';
import { positionBins } from './position-bins.js';

const answer = (rows: readonly [mean: number, size: number, largest: number, count: number][]) => ({
  mean: Float64Array.from(rows, ([mean]) => mean),
  size: Float64Array.from(rows, ([, size]) => size),
  largest: Float64Array.from(rows, ([, , largest]) => largest),
  count: Float64Array.from(rows, ([, , , count]) => count),
});

it('weights the means of a bin by the tokens, and keeps the largest', () => {
  const bins = positionBins(
    answer([
      [1, 1, 2, 3],
      [-3, 3, -5, 1],
      [0.5, 0.5, 0.5, 1],
    ]),
    2,
  );
  expect(bins).toEqual([
    { from: 0, to: 1, mean: 0, size: 1.5, largest: 5, count: 3 },
    { from: 2, to: 2, mean: 0.5, size: 0.5, largest: 0.5, count: 1 },
  ]);
});

it('leaves out positions that nothing is trained on', () => {
  const none = [Number.NaN, Number.NaN, Number.NaN, 0] as const;
  expect(positionBins(answer([[1, 1, 2, 3], [...none]]), 1)).toEqual([
    { from: 0, to: 1, mean: 1, size: 1, largest: 2, count: 3 },
  ]);
});

it('makes no number of NaN', () => {
  expect(positionBins(answer([[Number.NaN, 1, Number.NaN, 1]]), 9)[0]).toMatchObject({
    mean: Number.NaN,
    largest: Number.NaN,
  });
});
