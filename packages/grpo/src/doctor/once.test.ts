import { expect, it } from 'vitest';
import { once, onceOfBoth } from './once.js';

it('computes once for each object, whatever comes of it', () => {
  const asked: object[] = [];
  const nothing = once((key: object) => void asked.push(key));
  const [a, b] = [{}, {}];
  for (const key of [a, b, a, b]) nothing(key);
  expect(asked).toEqual([a, b]);
  expect(asked[0]).toBe(a);
});

it('computes once for each two objects, in their order', () => {
  let calls = 0;
  const pair = onceOfBoth((one: { n: number }, other: { n: number }) => [++calls, one.n, other.n]);
  const [a, b] = [{ n: 1 }, { n: 2 }];
  expect(pair(a, b)).toEqual([1, 1, 2]);
  expect(pair(b, a)).toEqual([2, 2, 1]);
  expect(pair(a, b)).toEqual([1, 1, 2]);
});
