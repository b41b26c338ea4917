import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataOrder } from './data-order.js';

const size = fc.integer({ min: 1, max: 40 });
const count = fc.integer({ min: 1, max: 50 });
const seed = fc.integer();

const sorted = (values: readonly number[]) => [...values].sort((a, b) => a - b);

describe('the order of the problems', () => {
  it('takes each once an epoch, whatever a step takes', () => {
    fc.assert(
      fc.property(size, count, seed, (n, perStep, s) => {
        const order = new DataOrder(n, s);
        const steps = Math.ceil((3 * n) / perStep);
        const taken = Array.from({ length: steps }, (_, step) => order.at(step, perStep)).flat();
        for (const epoch of [0, 1, 2]) {
          expect(sorted(taken.slice(epoch * n, (epoch + 1) * n))).toEqual([...Array(n).keys()]);
        }
      }),
    );
  });

  it('of a step does not depend on the steps before it', () => {
    fc.assert(
      fc.property(size, count, seed, fc.array(fc.nat(30)), (n, perStep, s, steps) => {
        const used = new DataOrder(n, s);
        for (const step of steps)
          expect(used.at(step, perStep)).toEqual(new DataOrder(n, s).at(step, perStep));
      }),
    );
  });

  it('differs between epochs and between seeds', () => {
    const order = new DataOrder(100, 1);
    const epochs = [order.at(0, 100), order.at(1, 100), new DataOrder(100, 2).at(0, 100)];
    expect(new Set(epochs.map(String)).size).toBe(3);
    expect(epochs[0]).not.toEqual([...Array(100).keys()]);
  });
});
