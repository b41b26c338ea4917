import { describe, expect, it } from 'vitest';
import { uniform } from './random.js';
import { gainOver, isStraight } from './trend.js';

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
    expect(gainOver(Array(8).fill(2))).toMatchObject({ gain: 0, low: 0, high: 0 });
  });

  it('is fitted over the places of the values', () => {
    const at = [1, 2, 3, 4, 5, 6, 7, 100];
    const { from, to, gain } = gainOver(
      at.map((x) => 0.01 * x),
      at,
    );
    expect([from, to, gain]).toEqual([
      expect.closeTo(0.01, 9),
      expect.closeTo(1, 9),
      expect.closeTo(0.99, 9),
    ]);
  });
});

describe('a straight line', () => {
  const noise = (i: number) => 0.05 * Math.sin(1.7 * i * i);
  const places = Array.from({ length: 40 }, (_, i) => i);

  it('fits a drift better than two levels, and a jump worse', () => {
    const straight = (value: (i: number) => number) => isStraight(places.map(value), places);
    expect(straight((i) => 0.02 * i + noise(i))).toBe(true);
    expect(straight((i) => (i < 25 ? 0 : 0.8) + noise(i))).toBe(false);
    expect(straight(noise)).toBe(false);
    expect(straight(() => 0.5)).toBe(false);
  });

  it('is one over the places of the values', () => {
    const at = places.map((i) => 1.2 ** i);
    const values = at.map((x, i) => x / 100 + noise(i));
    expect([isStraight(values, at), isStraight(values, places)]).toEqual([true, false]);
  });
});
