import { describe, expect, it } from 'vitest';
import { defaultKs, passAtK } from './pass-at-k.js';

/** Every way to choose k of the numbers 0 … n − 1. */
function subsets(n: number, k: number): number[][] {
  if (k === 0) return [[]];
  if (n < k) return [];
  return [...subsets(n - 1, k), ...subsets(n - 1, k - 1).map((rest) => [...rest, n - 1])];
}

describe('pass@k', () => {
  it('is the share of the k-subsets with a right completion, for all n up to 8', () => {
    for (let n = 1; n <= 8; n++) {
      for (let right = 0; right <= n; right++) {
        for (let k = 1; k <= n; k++) {
          const all = subsets(n, k);
          // The first `right` completions are the right ones.
          const passing = all.filter((chosen) => chosen.some((i) => i < right)).length;
          expect(passAtK(n, right, k), `${n} ${right} ${k}`).toBeCloseTo(passing / all.length, 12);
        }
      }
    }
  });

  it('is exact at its ends, and where the binomials are beyond a double', () => {
    expect(passAtK(5, 0, 3)).toBe(0);
    expect(passAtK(5, 5, 1)).toBe(1);
    expect(passAtK(7, 5, 3)).toBe(1);
    expect(passAtK(10, 4, 1)).toBeCloseTo(0.4, 15);
    // Python: 1 - math.comb(990, 100) / math.comb(1000, 100)
    expect(passAtK(1000, 10, 100)).toBeCloseTo(0.653072285207994, 12);
  });

  it('needs as many completions as k', () => {
    expect(() => passAtK(4, 1, 5)).toThrow(RangeError);
    expect(() => passAtK(4, 1, 0)).toThrow(RangeError);
    expect(() => passAtK(4, 5, 1)).toThrow(RangeError);
  });

  it('is reported for powers of two and all of the samples', () => {
    expect([0, 1, 2, 4, 6].map(defaultKs)).toEqual([[], [], [1, 2], [1, 2, 4], [1, 2, 4, 6]]);
  });
});
