import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alarmsOf } from './health.js';
import { JudgeStatistics, percentile } from './statistics.js';

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

describe('the health of a judge', () => {
  function health(seconds: number[], fallbacks: number, completions: number) {
    const statistics = new JudgeStatistics();
    for (const one of seconds) statistics.took(one);
    statistics.judgedBy('first', false, completions - fallbacks);
    statistics.judgedBy('second', true, fallbacks);
    return alarmsOf(statistics.counts, 'first: HTTP 500');
  }
  const requests = (slow: number, seconds: number) =>
    Array.from({ length: 100 }, (_, i) => (i < slow ? seconds : 0.5));

  it('is well up to 10 % of fallbacks and 3 s', () => {
    expect(health(requests(5, 9), 10, 100)).toEqual({});
    expect(health(requests(6, 3), 10, 100)).toEqual({});
    expect(health([9, 9, 9], 3, 3)).toEqual({});
  });

  it('says what is wrong beyond', () => {
    expect(health(requests(6, 3.1), 11, 100)).toEqual({
      slow: expect.stringContaining(
        'of 100 requests half took at least 0.5 s, and one in twenty at least 3.1 s',
      ),
      fallback: expect.stringContaining(
        '11 of 100 completions (11 %) were judged by a fallback, since first: HTTP 500',
      ),
    });
  });
});
