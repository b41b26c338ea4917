import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { median, percentile, quantile } from './quantile.js';

describe('quantile', () => {
  it('interpolates as numpy.quantile does', () => {
    const sorted = [-1, 0, 2, 7];
    // numpy.quantile([-1, 0, 2, 7], [0, 0.25, 0.4, 0.5, 0.9, 1])
    const expected = [-1, -0.25, 0.4, 1, 5.5, 7];
    for (const [i, share] of [0, 0.25, 0.4, 0.5, 0.9, 1].entries())
      expect(quantile(sorted, share)).toBeCloseTo(expected[i]!, 12);
  });

  it('is beyond every value where there is none', () => {
    expect(quantile([], 0.5)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('median', () => {
  it('is the middle, or between the two middle ones, of the numbers', () => {
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, Number.NaN, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  it('leaves the values as they are', () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });
});

describe('percentile', () => {
  it('is the nearest rank', () => {
    // The example that textbooks have of it.
    const sorted = [15, 20, 35, 40, 50];
    expect([5, 30, 40, 50, 100].map((percent) => percentile(sorted, percent))).toEqual([15, 20, 20, 35, 50]);
    expect(percentile([7], 95)).toBe(7);
    expect(percentile([], 95)).toBe(0);
  });

  it('has at least so many of them at or below it, and is the smallest such', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer(), { minLength: 1 }),
        fc.integer({ min: 1, max: 100 }),
        (values, percent) => {
          const sorted = Float64Array.from(values).sort();
          const found = percentile(sorted, percent);
          const upTo = (limit: number) => values.filter((value) => value <= limit).length;
          expect(100 * upTo(found)).toBeGreaterThanOrEqual(percent * values.length);
          for (const smaller of values.filter((value) => value < found))
            expect(100 * upTo(smaller)).toBeLessThan(percent * values.length);
        },
      ),
    );
  });
});
