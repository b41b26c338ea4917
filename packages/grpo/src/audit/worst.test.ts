import { expect, it } from 'vitest';
import { worstOf } from './worst.js';

it('takes the pair that is furthest off by its own bound, and counts all', () => {
  const pairs = [
    { found: 1, plain: 3, bound: 10 },
    { found: 1, plain: 1.5, bound: 0.1, token: 1 },
    { found: 0, plain: 0, bound: 0 },
  ];
  expect(worstOf('completion', 'log-prob', pairs)).toEqual([
    {
      handOver: 'completion',
      quantity: 'log-prob',
      compared: 3,
      found: 1,
      plain: 1.5,
      deviation: 0.5,
      bound: 0.1,
      token: 1,
    },
  ]);
  expect(worstOf('completion', 'log-prob', [])).toEqual([]);
});

it('takes what differs where nothing may, and what is no number', () => {
  const exact = [
    { found: 1, plain: 1.5, bound: 10 },
    { found: 'a', plain: 'b', bound: 0, prompt: 2 },
  ];
  expect(worstOf('prompt', 'text', exact)).toMatchObject([{ found: 'a', deviation: 1, prompt: 2 }]);
  const none = [{ found: Number.NaN, plain: 1, bound: 9, token: 0 }, ...exact];
  expect(worstOf('prompt', 'text', none)).toMatchObject([{ token: 0, deviation: Number.NaN }]);
});
