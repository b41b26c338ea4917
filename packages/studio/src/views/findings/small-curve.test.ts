import { expect, it } from 'vitest';
import { drawnOf } from './small-curve.js';

const drawn = (...values: number[]) =>
  drawnOf({ steps: Float64Array.from(values, (_, i) => i + 1), values: Float64Array.from(values) });

it('leaves a gap where a value is not finite', () => {
  expect(drawn(1, 2, Number.NaN, 3, Number.POSITIVE_INFINITY)).toMatchObject({
    pieces: ['0.0,80.0 75.0,40.0', '225.0,0.0 225.0,0.0'],
    low: 1,
    high: 3,
    isLog: false,
  });
});

it('of one value lies in the middle, of fewer than two entries is none', () => {
  expect(drawn(5, 5)!.pieces).toEqual(['0.0,40.0 300.0,40.0']);
  expect(drawn(5)).toBe(undefined);
  expect(drawn(Number.NaN, 1)).toBe(undefined);
});

it('is drawn on a log scale where one value dwarfs the others', () => {
  expect(drawn(1, 100, 10_000)).toMatchObject({ isLog: true, pieces: ['0.0,80.0 150.0,40.0 300.0,0.0'] });
  expect(drawn(0, 100, 10_000)!.isLog).toBe(false);
});

it('of many entries stays small', () => {
  expect(
    drawn(...Array.from({ length: 50_000 }, (_, i) => Math.sin(i / 1000)))!.pieces[0]!.length,
  ).toBeLessThan(10_000);
});
