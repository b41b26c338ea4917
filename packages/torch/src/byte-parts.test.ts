import { describe, expect, it } from 'vitest';
import { byteParts, empty, tidy } from './index.js';

describe('parts of bytes', () => {
  it.each([
    ['a matrix, a few rows each', [7, 5], 2 * 5 * 4 + 3, [40, 40, 40, 20]],
    ['rows that are larger than a part', [3, 5], 8, [20, 20, 20]],
    ['a vector', [10], 16, [16, 16, 8]],
    ['a number', [], 2, [4]],
    ['nothing', [0, 3], 8, [0]],
    ['a tensor of three dimensions, whole', [2, 3, 4], 1000, [96]],
  ])('of %s', (_, shape, most, lengths) => {
    tidy(() => {
      const tensor = empty(shape).uniform_();
      const parts = [...byteParts(tensor, most)];
      expect(parts.map(({ length }) => length)).toEqual(lengths);
      expect(Buffer.concat(parts)).toEqual(Buffer.from(tensor.toBytes()));
    });
  });

  it('are those of a turned matrix that has a gradient, too', () => {
    tidy(() => {
      const tensor = empty([6, 4]).uniform_();
      tensor.requiresGrad = true;
      expect(Buffer.concat([...byteParts(tensor.t(), 50)])).toEqual(Buffer.from(tensor.t().toBytes()));
    });
  });
});
