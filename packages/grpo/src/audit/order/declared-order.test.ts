import { expect, it } from 'vitest';
import { DataOrder } from '../../tasks/order/data-order.js';
import { DeclaredOrder } from './declared-order.js';

it.each([
  [1, 0],
  [7, 3],
  [64, -5],
  [240, 2 ** 40 + 1],
])('%i rows have at seed %i the order that training takes, through several epochs', (size, seed) => {
  const [plain, trained] = [new DeclaredOrder([...Array(size).keys()], seed), new DataOrder(size, seed)];
  const count = 3 * size;
  expect(Array.from({ length: count }, (_, i) => plain.at(i))).toEqual(trained.from(0, count));
});

it('finds rows where they follow each other, and only there', () => {
  const order = new DeclaredOrder([...Array(40).keys()], 1);
  const rows = [17, 18, 19].map((place) => order.at(place));
  expect(order.find(rows, 0, 36)).toBe(17);
  expect(order.find(rows, 18, 36)).toBeUndefined();
  expect(order.find([rows[0]!, rows[2]!], 0, 36)).toBeUndefined();
});
