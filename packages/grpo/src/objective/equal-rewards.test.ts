import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { advantagesOf } from './advantage.js';
import {
  anyBatch,
  anySettings,
  PLAIN,
  reward,
  rewardOrNone,
  single,
  table,
} from './advantage.test.helper.js';

describe('a group of equal rewards', () => {
  const equal = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 });

  it('gets exactly 0, whatever they are and however many', () => {
    fc.assert(
      fc.property(
        equal,
        fc.integer({ min: 1, max: 64 }),
        anySettings,
        rewardOrNone,
        (value, size, settings, other) => {
          fc.pre(settings.baseline !== 'none' && settings.flat !== 'raw');
          // Beside a group that differs.
          const rewards = [
            ...Array<number>(size).fill(value),
            ...Array.from({ length: size }, (_, i) => other + i),
          ];
          const { advantages, zeroVariance } = advantagesOf(single(rewards), size, settings);
          expect(advantages.slice(0, size).every((x) => x === 0)).toBe(true);
          expect(zeroVariance).toBe(size === 1 || Number.isNaN(other) ? 1 : 0.5);
        },
      ),
    );
  });

  it('gets exactly 0 also where sums of several rewards round differently', () => {
    const totals = Float64Array.of(0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1, 0.6);
    expect(new Set(totals).size).toBe(2);
    expect([...advantagesOf({ columns: [totals], weights: [1], totals }, 3, PLAIN).advantages]).toEqual([
      0, 0, 0,
    ]);
  });

  it.each([
    [0.2, -1.49e-4],
    [0.9, -5.96e-4],
    [5.7, -4.74e-3],
  ])('of 8 × %d gets exactly 0, where TRL leaks %d to each', (value, leak) => {
    const rewards = single(Array<number>(8).fill(value));
    expect([...advantagesOf(rewards, 8, PLAIN).advantages]).toEqual(Array(8).fill(0));
    for (const compat of ['trl', 'trl-1.10'] as const) {
      const leaked = advantagesOf(rewards, 8, { ...PLAIN, compat }).advantages;
      for (const advantage of leaked) expect(advantage / leak).toBeCloseTo(1, 2);
    }
  });

  it('is told from a group that differs, and dropped or left as it is when asked to', () => {
    const rewards = single([0.2, 0.2, 0.2, 1, 0, 0.5]);
    const dropping = advantagesOf(rewards, 3, { ...PLAIN, flat: 'drop' });
    expect(dropping.dropped).toEqual([0]);
    expect(dropping.zeroVariance).toBe(0.5);
    const raw = advantagesOf(rewards, 3, { ...PLAIN, flat: 'raw' });
    expect(raw.dropped).toEqual([]);
    expect([...raw.advantages.slice(0, 3)]).toEqual([0.2, 0.2, 0.2]);
    expect(raw.advantages.slice(3)).toEqual(dropping.advantages.slice(3));
    // Nothing would be left.
    expect(advantagesOf(single([1, 1, 0, 0]), 2, { ...PLAIN, flat: 'drop' }).dropped).toEqual([]);
  });
});

describe('several rewards, each compared before they are summed (GDPO)', () => {
  const settings = { ...PLAIN, combine: 'normalize_then_sum' } as const;

  it('weigh as much as they are given, whatever their scale', () => {
    fc.assert(
      fc.property(anyBatch(reward), ({ size, columns: [first] }) => {
        const second = first!.map((_, b) => Math.sin(5 * b * b));
        // Scaled by powers of two: no rounding.
        const [one, other] = [1, 1024].map((factor) =>
          advantagesOf(table([first!, second.map((r) => factor * r)]), size, { ...settings, epsilon: 0 }),
        );
        expect([...one!.advantages]).toEqual([...other!.advantages].map((x) => expect.closeTo(x, 9)));
      }),
    );
  });

  it('leave exactly 0 to a group in which each of them is equal', () => {
    const columns = [
      [1, 0, 0.3, 0.3, 1, 1],
      [0.2, 0.4, 0.9, 0.9, 0.1, 0.8],
    ];
    const { advantages, zeroVariance } = advantagesOf(table(columns), 2, settings);
    expect([...advantages.slice(2, 4)]).toEqual([0, 0]);
    expect(zeroVariance).toBe(1 / 3);
    expect(advantages[4]).toBeLessThan(0);
  });

  it('still tell completions apart whose sums are equal', () => {
    // 1 × 0 + 0.4 × 1 = 1 × 0.4 + 0.4 × 0
    const columns = [
      [0, 0.4, 1, 0],
      [1, 0, 1, 0],
    ];
    const { advantages, zeroVariance } = advantagesOf(table(columns), 2, settings);
    expect(advantages[1]).toBeGreaterThan(0.1);
    expect(advantages[0]).toBeCloseTo(-advantages[1]!, 9);
    expect(zeroVariance).toBe(0);
    expect([...advantagesOf(table(columns), 2, PLAIN).advantages.slice(0, 2)]).toEqual([0, 0]);
  });
});
