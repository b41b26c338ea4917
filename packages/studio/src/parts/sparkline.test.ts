import { expect, it } from 'vitest';
import { sparkPieces } from './sparkline.js';

it('draws from the lowest to the highest value', () => {
  expect(sparkPieces([0, 4, 2], 10, 8)).toEqual(['0.0,8.0 5.0,0.0 10.0,4.0']);
});

it('leaves a gap where a value is not finite, and shows what stands alone', () => {
  expect(sparkPieces([0, Number.NaN, 4, Number.POSITIVE_INFINITY, 2, 2], 10, 8)).toEqual([
    '0.0,8.0 0.0,8.0',
    '4.0,0.0 4.0,0.0',
    '8.0,4.0 10.0,4.0',
  ]);
  expect(sparkPieces([Number.NaN], 10, 8)).toEqual([]);
});

it('draws equal values in the middle', () => {
  expect(sparkPieces([3, 3], 10, 8)).toEqual(['0.0,4.0 10.0,4.0']);
});
