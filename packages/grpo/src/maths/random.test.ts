import { describe, expect, it } from 'vitest';
import { permutation, uniform } from './random.js';

const MASK = (1n << 64n) - 1n;

/** The same function once more, in BigInt and straight from the published constants. */
function reference(seed: number, ...keys: number[]): number {
  let state = 0n;
  for (const key of [seed, ...keys]) {
    state = ((state ^ (BigInt(key) & MASK)) + 0x9e3779b97f4a7c15n) & MASK;
    state = ((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    state = ((state ^ (state >> 27n)) * 0x94d049bb133111ebn) & MASK;
    state ^= state >> 31n;
  }
  return Number(state >> 11n) / 2 ** 53;
}

/** Chi-square of counts against equal expectation. */
function chiSquare(counts: number[]): number {
  const expected = counts.reduce((a, b) => a + b, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

function correlation(a: number[], b: number[]): number {
  const mean = (x: number[]) => x.reduce((s, v) => s + v, 0) / x.length;
  const [ma, mb] = [mean(a), mean(b)];
  const covariance = mean(a.map((v, i) => (v - ma) * (b[i]! - mb)));
  return covariance / Math.sqrt(mean(a.map((v) => (v - ma) ** 2)) * mean(b.map((v) => (v - mb) ** 2)));
}

describe('uniform', () => {
  it('is splitmix64: its published first output for seed 1234567', () => {
    expect(uniform(1234567)).toBe(Number(6457827717110365317n >> 11n) / 2 ** 53);
  });

  it('equals a BigInt implementation, negative and 53-bit keys included', () => {
    const keys = [
      0,
      1,
      2,
      255,
      65536,
      0x7fffffff,
      0x80000000,
      0xffffffff,
      2 ** 32,
      2 ** 53 - 1,
      -1,
      -(2 ** 40),
    ];
    for (const a of keys) {
      for (const b of keys) expect(uniform(a, b, 7)).toBe(reference(a, b, 7));
    }
  });

  it('has the mean and variance of the uniform distribution', () => {
    const n = 200_000;
    const draws = Array.from({ length: n }, (_, i) => uniform(42, i));
    const mean = draws.reduce((a, b) => a + b, 0) / n;
    const variance = draws.reduce((a, b) => a + (b - mean) ** 2, 0) / n;
    // Five standard errors of each estimate.
    expect(Math.abs(mean - 1 / 2)).toBeLessThan(5 * Math.sqrt(1 / 12 / n));
    expect(Math.abs(variance - 1 / 12)).toBeLessThan(5 * Math.sqrt(1 / 180 / n));
    expect(draws.every((u) => u >= 0 && u < 1)).toBe(true);
  });

  it('fills 256 cells evenly, whichever argument counts up', () => {
    const draws: ((i: number) => number)[] = [
      (i) => uniform(i),
      (i) => uniform(0, i),
      (i) => uniform(3, i, 9),
      (i) => uniform(3, 9, i * 1024),
    ];
    for (const draw of draws) {
      const counts = new Array<number>(256).fill(0);
      for (let i = 0; i < 100_000; i++) counts[Math.floor(draw(i) * 256)]!++;
      // 255 degrees of freedom: 150 and 380 lie about 5 standard deviations out.
      expect(chiSquare(counts)).toBeGreaterThan(150);
      expect(chiSquare(counts)).toBeLessThan(380);
    }
  });

  it('does not correlate between neighbouring keys, and pairs of neighbours fill the square', () => {
    const n = 50_000;
    const at = (shift: (i: number) => number) => Array.from({ length: n }, (_, i) => shift(i));
    const base = at((i) => uniform(1, i, 5));
    for (const other of [
      at((i) => uniform(1, i + 1, 5)),
      at((i) => uniform(1, i, 6)),
      at((i) => uniform(2, i, 5)),
    ]) {
      expect(Math.abs(correlation(base, other))).toBeLessThan(5 / Math.sqrt(n));
      const counts = new Array<number>(256).fill(0);
      for (let i = 0; i < n; i++) counts[Math.floor(base[i]! * 16) * 16 + Math.floor(other[i]! * 16)]!++;
      expect(chiSquare(counts)).toBeLessThan(380);
    }
  });

  it('tells order and number of keys apart', () => {
    const draws = [
      uniform(0),
      uniform(0, 0),
      uniform(0, 0, 0),
      uniform(1, 2),
      uniform(2, 1),
      uniform(1, 2, 0),
    ];
    expect(new Set(draws).size).toBe(draws.length);
  });

  it('refuses keys that are not safe integers', () => {
    expect(() => uniform(0.5)).toThrow('safe integer, got 0.5');
    expect(() => uniform(0, Number.NaN)).toThrow(RangeError);
    expect(() => uniform(0, 2 ** 53)).toThrow(RangeError);
  });
});

describe('permutation', () => {
  it('is a permutation that repeats for the same seed and keys only', () => {
    const order = permutation(100, 7, 1);
    expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect(permutation(100, 7, 1)).toEqual(order);
    expect(permutation(100, 7, 2)).not.toEqual(order);
    expect(permutation(0, 7)).toEqual([]);
  });

  it('reaches each order of three equally often', () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 6000; i++) {
      const key = permutation(3, 0, i).join('');
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    expect(counts.size).toBe(6);
    // 5 degrees of freedom: 25 has probability 1.4e-4, and the draws are fixed.
    expect(chiSquare([...counts.values()])).toBeLessThan(25);
  });
});
