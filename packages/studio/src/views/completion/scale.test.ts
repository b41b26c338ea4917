import { expect, it } from 'vitest';
import { measures } from './measures.js';
import { classScale, ownScale } from './scale.js';

it('tells sizes and signs apart, and what is no number', () => {
  const scale = measures.gap.scaleOf([]);
  const names = [0.0005, 0.001, 0.05, -0.5, -2, Number.NaN, -Infinity].map((x) => scale.levelOf(x)?.name);
  expect(names).toEqual(['zero', 'plus-1', 'plus-2', 'minus-3', 'minus-4', 'not-finite', 'not-finite']);
  expect(scale.levelOf(undefined)).toBeUndefined();
});

it('takes a halved ratio for as far from 1 as a doubled one', () => {
  const scale = measures.ratio.scaleOf([]);
  expect([1, 2, 0.5, 1.15, 1 / 1.15].map((ratio) => scale.levelOf(ratio)?.name)).toEqual([
    'zero',
    'plus-4',
    'minus-4',
    'plus-2',
    'minus-2',
  ]);
});

it('gives a log-prob no sign: less likely is more', () => {
  const scale = measures.logprob.scaleOf([]);
  expect(scale.levelOf(-5)?.name).toBe('plus-4');
  expect(scale.levels.some(({ name }) => name.startsWith('minus'))).toBe(false);
});

it('measures by the largest of the values where there is no other scale', () => {
  const scale = ownScale([0.1, -10, Number.NaN, Infinity]);
  expect([9, -9, 6, 0.1].map((value) => scale.levelOf(value)?.name)).toEqual([
    'plus-4',
    'minus-4',
    'plus-3',
    'zero',
  ]);
  expect(ownScale([0, 0]).levelOf(0)?.says).toBe('all are 0');
});

it('knows only the values of its classes', () => {
  const scale = classScale({ 0: { name: 'zero', says: 'inside' } });
  expect([scale.levelOf(0)?.says, scale.levelOf(7)]).toEqual(['inside', undefined]);
});
