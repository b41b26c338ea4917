import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withBrevity } from './brevity.js';

const rewards = fc.double({ min: -1, max: 1, noNaN: true });
const lengths = fc.nat(20);

it('the penalty for short completions only lowers, never more for the longer, and keeps the order of rewards', () => {
  fc.assert(
    fc.property(rewards, rewards, lengths, lengths, (a, b, m, n) => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      const [short, long] = [Math.min(m, n), Math.max(m, n)];
      expect(withBrevity(a, m)).toBeLessThanOrEqual(a);
      expect(withBrevity(a, m)).toBeGreaterThanOrEqual(-1);
      expect(withBrevity(a, short)).toBeLessThanOrEqual(withBrevity(a, long));
      expect(withBrevity(low, m)).toBeLessThanOrEqual(withBrevity(high, m));
    }),
  );
});

it('takes 0.3 × reward − 0.3 where that is less, so that −1 does not rise to −0.6', () => {
  expect(withBrevity(1, 4)).toBeCloseTo(0, 12);
  expect(withBrevity(0.3, 2)).toBeCloseTo(-0.21, 12);
  expect(withBrevity(-1, 2)).toBe(-1);
  expect(withBrevity(1, 5)).toBe(1);
});
