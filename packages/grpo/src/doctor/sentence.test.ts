import { expect, it } from 'vitest';
import { formatApart } from './sentence.js';

it('gives numbers the digits that tell them apart, and texts none', () => {
  expect(formatApart([1.23456, 1.23457])).toEqual(['1.23456', '1.23457']);
  expect(formatApart([1.23456, 2])).toEqual(['1.23', '2']);
  expect(formatApart([0.5, 0.5])).toEqual(['0.5', '0.5']);
  expect(formatApart(['a', Number.NaN, Number.NaN])).toEqual(['"a"', 'NaN', 'NaN']);
});
