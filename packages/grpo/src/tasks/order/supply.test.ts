import { describe, expect, it } from 'vitest';
import { DataOrder } from './data-order.js';
import { Supply } from './supply.js';

const problems = Array.from({ length: 5 }, (_, i) => ({ prompt: String(i), row: i }));
const rowsOf = (taken: { row: unknown }[]) => taken.map(({ row }) => row);

describe('the supply of problems', () => {
  it('gives every problem once an epoch, whatever is taken at a time', () => {
    const supply = new Supply(problems, 3);
    const taken = [2, 1, 4, 0, 3].flatMap((count) => rowsOf(supply.take(count)));
    expect([...taken.slice(0, 5)].sort()).toEqual([0, 1, 2, 3, 4]);
    expect([...taken.slice(5)].sort()).toEqual([0, 1, 2, 3, 4]);
  });

  it('is the order of steps of equal size', () => {
    const supply = new Supply(problems, 3);
    const order = new DataOrder(5, 3);
    for (const step of [0, 1, 2, 3]) expect(rowsOf(supply.take(2))).toEqual(order.at(step, 2));
  });

  it('tells the first problems without taking them', () => {
    const progress = { problems: 3 };
    const supply = new Supply(problems, 3, progress);
    expect(rowsOf(supply.first(2))).toEqual(new DataOrder(5, 3).at(0, 2));
    expect(progress).toEqual({ problems: 3 });
  });

  it('goes on where its progress says', () => {
    const progress = { problems: 0 };
    const whole = new Supply(problems, 3, progress);
    whole.take(4);
    expect(progress).toEqual({ problems: 4 });
    const resumed = new Supply(problems, 3, { ...progress });
    expect(resumed.take(9)).toEqual(whole.take(9));
  });
});
