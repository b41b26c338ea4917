import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DataOrder } from './data-order.js';
import { MixedOrder, orderOf } from './mixed-order.js';

const problems = (a: number, b: number) =>
  [...Array<string>(a).fill('a'), ...Array<string>(b).fill('b')].map((task) => ({
    prompt: '',
    row: { task },
  }));

it('every run of places has each task by its share, to within one', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 5 }),
      fc.nat(200),
      fc.integer({ min: 1, max: 40 }),
      (a, b, position, count) => {
        const order = new MixedOrder(problems(7, 30), { a, b }, 1);
        const ofA = order.from(position, count).filter((i) => i < 7).length;
        expect(Math.abs(ofA - (count * a) / (a + b))).toBeLessThanOrEqual(1);
      },
    ),
  );
});

it('a place has its problem whatever was asked before', () => {
  const fresh = () => new MixedOrder(problems(5, 3), { a: 2, b: 1 }, 9);
  const whole = fresh().from(0, 60);
  const used = fresh();
  for (const position of [40, 3, 3, 17, 0])
    expect(used.from(position, 6)).toEqual(whole.slice(position, position + 6));
  expect(used.at(4, 6)).toEqual(whole.slice(24, 30));
});

it('every problem of a task has its turn before one comes again', () => {
  const all = new MixedOrder(problems(5, 3), { a: 1, b: 1 }, 2).from(0, 30);
  const [a, b] = [all.filter((i) => i < 5), all.filter((i) => i >= 5)];
  for (let epoch = 0; epoch < 3; epoch++) expect(new Set(a.slice(5 * epoch, 5 * epoch + 5)).size).toBe(5);
  for (let epoch = 0; epoch < 5; epoch++) expect(new Set(b.slice(3 * epoch, 3 * epoch + 3)).size).toBe(3);
});

it('without shares it is the order of all problems', () => {
  expect(orderOf({ train: problems(5, 3) }, 4).from(2, 20)).toEqual(new DataOrder(8, 4).from(2, 20));
});
