import { describe, expect, it } from 'vitest';
import { clusteredWilson, meanInterval, wilson } from './interval.js';

/** The same number of completions for each problem. */
const each = (problems: number, samples: number) => Array<number>(problems).fill(samples);

describe('wilson', () => {
  // statsmodels 0.15: proportion_confint(correct, total, method='wilson'); scipy's binomtest agrees to these digits. The
  // first four are also in Newcombe (1998), Statistics in Medicine 17, table I, method 3.
  it.each([
    [81, 263, 0.2552885199, 0.366209577],
    [15, 148, 0.0623863995, 0.1604872417],
    [0, 20, 0, 0.1611251581],
    [1, 29, 0.0061132143, 0.1717552188],
    [46, 200, 0.1770934326, 0.2930830437],
    [199, 200, 0.9722262956, 0.9991168313],
    [3, 7, 0.1582198553, 0.7495416355],
    [500, 1024, 0.4577662573, 0.5188838382],
  ])('of %i in %i is that of statsmodels', (correct, total, low, high) => {
    const interval = wilson(correct, total);
    expect(interval.low).toBeCloseTo(low, 9);
    expect(interval.high).toBeCloseTo(high, 9);
  });

  it('ends at 0 and 1 exactly, and is symmetric', () => {
    for (const n of [1, 3, 10, 200]) {
      expect([wilson(0, n).low, wilson(n, n).high]).toEqual([0, 1]);
      expect(wilson(n, n).low).toBeCloseTo(1 - wilson(0, n).high, 12);
    }
  });

  it('refuses what is no proportion', () => {
    for (const [correct, total] of [
      [0, 0],
      [3, 2],
      [-1, 2],
      [Number.NaN, 2],
    ] as const) {
      expect(() => wilson(correct, total)).toThrow(RangeError);
    }
  });
});

describe('clusteredWilson', () => {
  it('is plain Wilson with one completion a problem', () => {
    expect(clusteredWilson([1, 1, 0, 1, 1, 1, 0, 1, 1, 1], each(10, 1))).toEqual(wilson(8, 10));
    expect(clusteredWilson([1], [1])).toEqual(wilson(1, 1));
  });

  it('counts problems when the completions of each agree', () => {
    expect(clusteredWilson([4, 4, 0, 0], each(4, 4))).toEqual(wilson(2, 4));
    expect(clusteredWilson([0, 0, 0], each(3, 8))).toEqual(wilson(0, 3));
    expect(clusteredWilson([5, 5, 5], each(3, 5))).toEqual(wilson(3, 3));
    expect(clusteredWilson([3], [4])).toEqual(wilson(0.75, 1));
  });

  it('counts completions when problems do not differ', () => {
    expect(clusteredWilson([2, 2, 2, 2], each(4, 4))).toEqual(wilson(8, 16));
  });

  it('lies between for what lies between', () => {
    // Means 0.75, 0.5, 0.25 and 1: variance of the mean (0.3125 / 3) / 4, so 0.234375 / 0.0260417 = 9 observations.
    const { low, high } = clusteredWilson([3, 2, 1, 4], each(4, 4));
    const by9 = wilson(0.625 * 9, 9);
    expect([low, high]).toEqual([expect.closeTo(by9.low, 12), expect.closeTo(by9.high, 12)]);
  });

  it('has the cluster-robust variance of statsmodels where the problems have different sizes', () => {
    // OLS on a constant, cov_type='cluster' with the correction m / (m − 1): 0.0340596, so 7.2794 observations.
    const { low, high } = clusteredWilson([3, 0, 2, 1], [4, 2, 2, 3]);
    expect([low, high]).toEqual([expect.closeTo(0.2366836489, 9), expect.closeTo(0.8228229068, 9)]);
  });
});

describe('meanInterval', () => {
  // Quantiles of Student's t as tables print them, by degrees of freedom.
  it.each([
    [2, 4.303],
    [3, 3.182],
    [5, 2.571],
    [10, 2.228],
    [100, 1.984],
  ])('is Student’s with %i degrees of freedom', (degrees, quantile) => {
    const values = Array.from({ length: degrees + 1 }, (_, i) => Math.sin(7 * i));
    const n = values.length;
    const mean = values.reduce((a, b) => a + b) / n;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / degrees;
    const { low, high } = meanInterval(values)!;
    expect((low + high) / 2).toBeCloseTo(mean, 12);
    expect((high - low) / 2 / Math.sqrt(variance / n) / quantile).toBeGreaterThan(0.99);
    expect((high - low) / 2 / Math.sqrt(variance / n) / quantile).toBeLessThan(1.001);
  });

  it('is not there for equal values, which would make it a point, and for two', () => {
    expect(meanInterval([0.1, 0.1, 0.1])).toBeUndefined();
    expect(meanInterval([0, 1])).toBeUndefined();
  });
});
