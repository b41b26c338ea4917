import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { permutation, uniform } from '../maths/random.js';
import { advantagesOf } from './advantage.js';
import {
  anyBatch,
  anySettings,
  oneOf,
  PLAIN,
  reward,
  rewardOrNone,
  single,
  table,
} from './advantage.test.helper.js';
import { statistics } from './statistics.js';

const groupsOf = <T>(values: ArrayLike<T>, size: number) =>
  Array.from({ length: values.length / size }, (_, g) => Array.from(values).slice(g * size, (g + 1) * size));
const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
const known = (values: readonly number[]) => values.filter((x) => !Number.isNaN(x));

describe('advantages', () => {
  it('follow their completions when a group is permuted', () => {
    fc.assert(
      fc.property(anyBatch(), anySettings, fc.nat(), ({ size, columns }, settings, seed) => {
        const order = groupsOf(columns[0]!, size).flatMap((_, g) =>
          permutation(size, seed, g).map((i) => g * size + i),
        );
        const permuted = columns.map((column) => order.map((b) => column[b]!));
        const before = advantagesOf(table(columns), size, settings).advantages;
        const after = advantagesOf(table(permuted), size, settings).advantages;
        expect([...after]).toEqual(order.map((b) => expect.closeTo(before[b]!, 9)));
      }),
    );
  });

  it('sum to 0 in each group, with its mean as the baseline', () => {
    fc.assert(
      fc.property(anyBatch(), oneOf('group', 'batch', 'none'), ({ size, columns }, scale) => {
        const { advantages } = advantagesOf(single(columns[0]!), size, { ...PLAIN, scale });
        for (const group of groupsOf(advantages, size)) expect(sum(group)).toBeCloseTo(0, 8);
      }),
    );
  });

  it('with leave-one-out are G/(G − 1) of those to the mean', () => {
    fc.assert(
      fc.property(anyBatch(), ({ size, columns }) => {
        const settings = { ...PLAIN, baseline: 'leave_one_out', scale: 'none' } as const;
        const groups = groupsOf(advantagesOf(single(columns[0]!), size, settings).advantages, size);
        for (const [g, rewards] of groupsOf(columns[0]!, size).entries()) {
          const scored = known(rewards);
          const count = scored.length;
          const factor = count === 1 ? 0 : count / (count - 1);
          const expected = rewards.map((r) => (Number.isNaN(r) ? 0 : factor * (r - sum(scored) / count)));
          expect(groups[g]).toEqual(expected.map((x) => expect.closeTo(x, 10)));
        }
      }),
    );
  });

  it('of a completion without a score are 0, and those of the others are as if it were not there', () => {
    const scored = fc.array(fc.tuple(reward, rewardOrNone), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(scored, anySettings, fc.nat(8), reward, (pairs, settings, place, other) => {
        const ofPairs = (all: readonly (readonly [number, number])[]) =>
          advantagesOf(
            table([all.map(([first]) => first), all.map(([, second]) => second)]),
            all.length,
            settings,
          );
        const without = ofPairs(pairs).advantages;
        const gap = Math.min(place, pairs.length);
        // Its first reward failed, the second did not.
        const { advantages } = ofPairs(pairs.toSpliced(gap, 0, [Number.NaN, other]));
        expect(advantages[gap]).toBe(0);
        expect([...advantages].toSpliced(gap, 1)).toEqual([...without].map((x) => expect.closeTo(x, 9)));
      }),
    );
  });

  it('without a single score are 0', () => {
    fc.assert(
      fc.property(anySettings, (settings) => {
        const result = advantagesOf(single([Number.NaN, Number.NaN, 1, 0]), 2, settings);
        expect([...result.advantages.slice(0, 2)]).toEqual([0, 0]);
        expect([...result.advantages].every(Number.isFinite)).toBe(true);
        expect(result.means[0]).toBeNaN();
      }),
    );
  });
});

describe('advantages divided by the mean (MaxRL)', () => {
  const settings = { ...PLAIN, scale: 'mean' } as const;
  const of = (...rewards: number[]) => [
    ...advantagesOf(single(rewards), rewards.length, settings).advantages,
  ];
  const bit = fc.constantFrom(0, 1);

  it('are (r − r̄) / r̄, and 0 where no completion is right', () => {
    expect(of(1, 0, 0, 0)).toEqual([3, -1, -1, -1]);
    expect(of(1, 1, 1, 0)).toEqual([1 / 3, 1 / 3, 1 / 3, -1].map((x) => expect.closeTo(x, 12)));
    expect(of(0, 0, 0, 0)).toEqual([0, 0, 0, 0]);
    expect(of(1, 1, 1, 1)).toEqual([0, 0, 0, 0]);
    expect(of(1, Number.NaN, 0, 0)).toEqual([2, 0, -1, -1].map((x) => expect.closeTo(x, 12)));
  });

  it('weigh score functions as the mean over the right completions does, but for a baseline', () => {
    // Theorem 2: 1/K Σ over the K right ones of ∇ log π, here with log-probs in place of their gradients.
    fc.assert(
      fc.property(fc.array(bit, { minLength: 2, maxLength: 9 }), fc.nat(), (rewards, seed) => {
        const scores = rewards.map((_, b) => uniform(seed, b));
        const right = scores.filter((_, b) => rewards[b] === 1);
        const estimate = sum(of(...rewards).map((A, b) => A * scores[b]!)) / rewards.length;
        const mean = (values: number[]) => sum(values) / values.length;
        const flat = right.length === 0 || right.length === rewards.length;
        expect(estimate).toBeCloseTo(flat ? 0 : mean(right) - mean(scores), 10);
      }),
    );
  });

  it('do not change with the size of the rewards', () => {
    fc.assert(
      fc.property(fc.array(bit, { minLength: 2 }), oneOf(0.1, 3, 50), (rewards, size) => {
        const other = of(...rewards.map((reward) => size * reward));
        expect(other).toEqual(of(...rewards).map((x) => expect.closeTo(x, 10)));
      }),
    );
  });

  it('of a reward below 0 are refused, with the group', () => {
    expect(() => advantagesOf(single([1, 0, 0.5, -0.25]), 2, settings)).toThrow(
      'group 2 has a reward below 0: 0.5, -0.25',
    );
  });
});

describe('what is done to advantages', () => {
  it('clip: none is beyond the bound, and those within it stay', () => {
    fc.assert(
      fc.property(anyBatch(), anySettings, oneOf(0.1, 0.7, 3), ({ size, columns }, settings, clip) => {
        const free = advantagesOf(table(columns), size, { ...settings, clip: undefined }).advantages;
        const { advantages } = advantagesOf(table(columns), size, { ...settings, clip });
        expect([...advantages]).toEqual([...free].map((x) => Math.max(-clip, Math.min(clip, x))));
      }),
    );
  });

  it('whiten: mean 0 and deviation 1 over the completions that take part', () => {
    fc.assert(
      fc.property(anyBatch(), anySettings, ({ size, columns }, settings) => {
        const rewards = table(columns);
        const drawn = { ...settings, clip: undefined, whiten: true };
        const { advantages, dropped } = advantagesOf(rewards, size, drawn);
        const takesPart = (b: number) =>
          !Number.isNaN(rewards.totals[b]!) && !dropped.includes(Math.floor(b / size));
        const { mean, deviation, equal } = statistics(advantages.filter((_, b) => takesPart(b)));
        fc.pre(!equal);
        expect(mean).toBeCloseTo(0, 9);
        expect(deviation).toBeCloseTo(1, 3);
      }),
    );
  });

  it('floor: the least that divides', () => {
    fc.assert(
      fc.property(anyBatch(), oneOf(0, 1), oneOf(0.05, 0.5, 2), ({ size, columns }, ddof, floor) => {
        const settings = { ...PLAIN, ddof, floor } as const;
        const { advantages, deviations } = advantagesOf(single(columns[0]!), size, settings);
        const plain = advantagesOf(single(columns[0]!), size, { ...settings, floor: 0 });
        for (const [b, advantage] of advantages.entries()) {
          const deviation = deviations[Math.floor(b / size)]!;
          const factor = (deviation + 1e-4) / (Math.max(deviation, floor) + 1e-4);
          expect(advantage).toBeCloseTo(plain.advantages[b]! * factor, 9);
        }
      }),
    );
  });

  it('flatBelow: a group that differs by less gets 0, and is not counted as equal', () => {
    fc.assert(
      fc.property(anyBatch(), oneOf(0.1, 0.5, 1.5), ({ size, columns }, flatBelow) => {
        const rewards = single(columns[0]!);
        const { advantages, deviations, zeroVariance } = advantagesOf(rewards, size, { ...PLAIN, flatBelow });
        const plain = advantagesOf(rewards, size, PLAIN);
        for (const [b, advantage] of advantages.entries()) {
          const isFlat = deviations[Math.floor(b / size)]! < flatBelow;
          expect(advantage).toBe(isFlat ? 0 : plain.advantages[b]);
        }
        expect(zeroVariance).toBe(plain.zeroVariance);
      }),
    );
  });

  it('drop: exactly the flat groups, unless all are', () => {
    fc.assert(
      fc.property(anyBatch(), oneOf(0, 0.5), ({ size, columns }, flatBelow) => {
        const rewards = single(columns[0]!);
        const { dropped, deviations } = advantagesOf(rewards, size, { ...PLAIN, flatBelow, flat: 'drop' });
        const flat = [...deviations.keys()].filter((g) => deviations[g] === 0 || deviations[g]! < flatBelow);
        expect(dropped).toEqual(flat.length === deviations.length ? [] : flat);
      }),
    );
  });
});
