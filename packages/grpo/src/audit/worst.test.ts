import { expect, it } from 'vitest';
import { worstByQuantity, worstOf } from './worst.js';

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
      off: { pairs: 1, firstToken: 1 },
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
  const later = [
    { found: 1, plain: 1, bound: 0 },
    { found: 2, plain: 1, bound: 0, token: 4 },
  ];
  expect(worstOf('prompt', 'id', later)).toMatchObject([{ found: 2, deviation: 1, token: 4 }]);
  const none = [{ found: Number.NaN, plain: 1, bound: 9, token: 0 }, ...exact];
  expect(worstOf('prompt', 'text', none)).toMatchObject([{ token: 0, deviation: Number.NaN }]);
});

it('tells what those that are off have in common', () => {
  const pairs = [1, 2, 3, 4, 5, 6].map((plain, i) => ({
    found: i < 3 ? plain : plain / 2,
    plain,
    bound: 0.1,
    completion: i % 3,
    token: i,
    tensor: `layer ${i}`,
  }));
  const [all] = worstOf('gradient', 'norm', pairs);
  expect(all!.off).toEqual({
    pairs: 3,
    factor: 0.5,
    completions: [3, 3],
    tensors: [3, 6],
    names: ['layer 3', 'layer 4', 'layer 5'],
    firstToken: 3,
  });
  const other = [...pairs, { found: 2, plain: 1, bound: 0, completion: 3 }];
  expect(worstOf('gradient', 'norm', other)[0]!.off).toEqual({
    ...all!.off,
    pairs: 4,
    factor: undefined,
    completions: [4, 4],
  });
  expect(worstOf('gradient', 'norm', pairs.slice(0, 3))[0]!.off).toBeUndefined();
  // One number of many says nothing of each.
  expect(
    worstOf('gradient', 'mean', [{ found: 1, plain: 0, bound: 0, compared: 9 }])[0]!.off,
  ).toBeUndefined();
  const joined = worstByQuantity([all!, ...worstOf('gradient', 'norm', pairs.slice(3))]);
  expect(joined[0]!.off).toMatchObject({ pairs: 6, factor: 0.5, firstToken: 3 });
});

it('joins comparisons of one quantity', () => {
  const of = (quantity: string, found: number) =>
    worstOf('update', quantity, [
      { found, plain: 1, bound: 1 },
      { found: 1, plain: 1, bound: 1 },
    ]);
  const joined = worstByQuantity([...of('mean', 2), ...of('count', 1), ...of('mean', 4)]);
  expect(joined).toMatchObject([
    { quantity: 'mean', compared: 4, found: 4, deviation: 3 },
    { quantity: 'count', compared: 2, found: 1 },
  ]);
});
