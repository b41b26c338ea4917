import { describe, expect, it } from 'vitest';
import { isFlat, largest, mean, moments, nonzero, smallest, sum, withoutNaN } from './moments.js';

const { NaN: none } = Number;

describe('moments', () => {
  it('are those of the numbers, as numpy has them', () => {
    // numpy.mean and numpy.std of [1, 2, 4, 9], with ddof 1 and 0
    const values = [1, none, 2, 4, 9];
    expect(moments(values, 1)).toEqual({ mean: 4, deviation: expect.closeTo(3.559026084, 9), count: 4 });
    expect(moments(values, 0).deviation).toBeCloseTo(3.082207001, 9);
  });

  it('are NaN where there is nothing to tell', () => {
    expect(moments([none], 1)).toEqual({ mean: none, deviation: none, count: 0 });
    expect(moments([2], 1).deviation).toBeNaN();
  });
});

describe('sums', () => {
  it('go through the values in their order', () => {
    expect(sum([1e16, 1, -1e16])).toBe(0);
    expect(sum([1e16, -1e16, 1])).toBe(1);
    expect(mean([1, 2, 6])).toBe(3);
    expect(mean([])).toBeNaN();
  });
});

describe('extremes and counts', () => {
  it('pass over NaN', () => {
    expect([largest([2, none, 5]), smallest([none, 2, 5])]).toEqual([5, 2]);
    expect([largest([]), smallest([])]).toEqual([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]);
    expect(withoutNaN([none, 1, none, 2])).toEqual([1, 2]);
    expect([isFlat([1, none, 1]), isFlat([1, 2])]).toEqual([true, false]);
  });

  it('count what is not 0', () => {
    expect(nonzero([0, 1, 2, 0])).toBe(2);
  });
});
