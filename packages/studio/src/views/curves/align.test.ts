import type { Curve } from 'grpo/studio';
import { expect, it } from 'vitest';
import { alignLines, isolated, nearest, stepsText } from './align.js';

const line = (steps: number[], values: number[]): { curve: Curve } => ({
  curve: {
    name: 'x',
    group: 'other',
    steps: Float64Array.from(steps),
    values: Float64Array.from(values),
  },
});
const PLAIN = { isLog: false, isStack: false };

it('puts lines on one row of steps and passes over what a line lacks', () => {
  const aligned = alignLines([line([1, 2, 4], [10, 20, 40]), line([2, 3], [5, 6])], PLAIN);
  expect([...aligned.steps]).toEqual([1, 2, 3, 4]);
  expect(aligned.heights).toEqual([
    [10, 20, undefined, 40],
    [undefined, 5, 6, undefined],
  ]);
});

it('makes a gap of what is not finite, and tells where', () => {
  const aligned = alignLines([line([1, 2, 3], [1, Number.NaN, Number.POSITIVE_INFINITY])], PLAIN);
  expect(aligned.heights).toEqual([[1, null, null]]);
  expect(aligned.broken).toEqual([2, 3]);
  expect(aligned.values).toEqual([[1, Number.NaN, Number.POSITIVE_INFINITY]]);
});

it('counts what cannot stand on a log scale', () => {
  const aligned = alignLines([line([1, 2, 3], [0, -1, 5])], { isLog: true, isStack: false });
  expect(aligned).toMatchObject({ heights: [[null, null, 5]], notPositive: 2, broken: [] });
});

it('stacks lines, and ends a stack at what cannot be added', () => {
  const lines = [line([1, 2, 3], [1, 1, 1]), line([1, 2], [2, Number.NaN]), line([1, 2, 3], [4, 4, 4])];
  expect(alignLines(lines, { isLog: true, isStack: true }).heights).toEqual([
    [1, 1, 1],
    [3, null, 1],
    [7, null, 5],
  ]);
});

it('orders steps that a log has twice or in another order', () => {
  const aligned = alignLines([line([10, 9, 10], [1, 2, 3])], PLAIN);
  expect([...aligned.steps]).toEqual([9, 10]);
  expect(aligned.heights).toEqual([[2, 3]]);
});

it('finds values that no line reaches', () => {
  expect(isolated([1, null, 2, undefined, null, 3, 4])).toEqual([0, 2]);
  expect(isolated([undefined, 5])).toEqual([1]);
  expect(isolated([1, undefined, 2])).toEqual([]);
});

it('names steps in spans', () => {
  expect(stepsText([3, 14, 15, 16, 20])).toBe('3, 14–16, 20');
  expect(stepsText([1, 3, 5, 7, 8], 2)).toBe('1, 3 and 3 more');
});

it('finds the nearest number of a row', () => {
  const row = [1, 5, 10];
  expect([0, 2, 4, 7, 8, 99].map((to) => nearest(row, to))).toEqual([1, 1, 5, 5, 10, 10]);
  expect(nearest([], 1)).toBeUndefined();
});
