import { expect, it } from 'vitest';
import { columnsOf } from './measure-chart.js';

it('keeps the extremes of many tokens in few columns, with the token that has them', () => {
  const values = Array.from({ length: 1000 }, (_, t) => (t === 123 ? 9 : t === 877 ? -7 : 0.1));
  const { extremes, low, high } = columnsOf(values, 0, 10);
  expect([low, high]).toEqual([-7, 9]);
  expect(extremes[1]).toEqual({ least: 0.1, most: 9, furthest: 123 });
  expect(extremes[8]).toEqual({ least: -7, most: 0.1, furthest: 877 });
});

it('spreads few tokens over the columns, and leaves NaN empty', () => {
  const { extremes } = columnsOf([1, Number.NaN], 0, 4);
  expect(extremes.map(({ least, most }) => least <= most)).toEqual([true, true, false, false]);
  expect(extremes[3]!.furthest).toBe(1);
});
