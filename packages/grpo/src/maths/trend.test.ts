import { describe, expect, it } from 'vitest';
import { uniform } from './random.js';
import { gainOver } from './trend.js';

describe('the gain of a straight line', () => {
  // Least squares by NumPy, and Student's quantiles 2.446912 and 2.306004. Neighbours differ in sign: r counts as 0.
  it.each([
    [[1, 3, 2, 4, 3, 5, 4, 6], 4, 2.233715],
    [[0.2, 0.5, 0.1, 0.4, 0.3, 0.35, 0.2, 0.6, 0.3, 0.45], 0.152727, 0.347697],
  ])('has the bounds of a regression: %j', (values, gain, reach) => {
    const found = gainOver(values);
    expect(found.gain).toBeCloseTo(gain, 5);
    expect(found.high - found.gain).toBeGreaterThan(0.99 * reach);
    expect(found.high - found.gain).toBeLessThan(1.01 * reach);
    expect(found.gain - found.low).toBeCloseTo(found.high - found.gain, 9);
  });

  it('is held by its bounds in 95 of 100 cases, and in 80 where neighbours err alike', () => {
    const held = (r: number) => {
      let count = 0;
      for (let trial = 0; trial < 1000; trial++) {
        let error = 0;
        const values = Array.from({ length: 12 }, (_, i) => {
          const noise = [0, 1, 2, 3].map((k) => uniform(7, trial, i, k) - 0.5).reduce((a, b) => a + b);
          error = r * error + noise;
          return 0.1 * i + error;
        });
        const { low, high } = gainOver(values);
        if (low <= 1.1 && high >= 1.1) count++;
      }
      return count / 1000;
    };
    expect(held(0)).toBeGreaterThan(0.93);
    expect(held(0)).toBeLessThan(0.98);
    expect(held(0.6)).toBeGreaterThan(0.78);
  });

  it('is exact where nothing errs', () => {
    const { low, high } = gainOver([1, 2, 3, 4, 5, 6, 7, 8]);
    expect([low, high]).toEqual([expect.closeTo(7, 9), expect.closeTo(7, 9)]);
    expect(gainOver(Array(8).fill(2))).toEqual({ gain: 0, low: 0, high: 0 });
  });
});
