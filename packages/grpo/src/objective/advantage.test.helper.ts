/** Rewards and settings of advantages, drawn by fast-check. */
import fc from 'fast-check';
import type { RewardColumns } from './reward-columns.js';
import type { AdvantageSettings } from './settings.js';

export const PLAIN: AdvantageSettings = {
  baseline: 'group',
  scale: 'group',
  ddof: 1,
  epsilon: 1e-4,
  floor: 0,
  flatBelow: 0,
  flat: 'zero',
  whiten: false,
  weight: 1,
  combine: 'sum_then_normalize',
};

export const oneOf = <const T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom<T>(...values);
export const anySettings = fc
  .record({
    baseline: oneOf('group', 'leave_one_out', 'none'),
    scale: oneOf('group', 'batch', 'none'),
    ddof: oneOf(0, 1),
    floor: oneOf(0, 0.05),
    flatBelow: oneOf(0, 0.3),
    flat: oneOf('zero', 'drop', 'raw'),
    whiten: fc.boolean(),
    clip: oneOf(undefined, 0.7),
    combine: oneOf('sum_then_normalize', 'normalize_then_sum'),
  })
  .map((settings): AdvantageSettings => ({ ...PLAIN, ...settings }));

/** With few digits, so that groups of equal rewards are drawn, and differences are no rounding. */
export const reward = fc.integer({ min: -300, max: 300 }).map((x) => x / 100);
export const rewardOrNone = fc.oneof(
  { weight: 5, arbitrary: reward },
  { weight: 1, arbitrary: fc.constant(Number.NaN) },
);

/** Groups of 2 to 8 completions, scored by one or two rewards. */
export const anyBatch = (value = rewardOrNone) =>
  fc.record({ size: fc.integer({ min: 2, max: 8 }), groups: fc.integer({ min: 1, max: 4 }) }).chain((shape) =>
    fc.record({
      size: fc.constant(shape.size),
      columns: fc.array(
        fc.array(value, { minLength: shape.size * shape.groups, maxLength: shape.size * shape.groups }),
        { minLength: 1, maxLength: 2 },
      ),
    }),
  );

/** The first reward may fail, and the completion has no total; the second may have no opinion. */
export function table(columns: readonly (readonly number[])[]): RewardColumns {
  const weights = [1, 0.4].slice(0, columns.length);
  const totals = columns[0]!.map((first, b) => {
    const second = columns[1]?.[b];
    return second === undefined || Number.isNaN(second) ? first : first + 0.4 * second;
  });
  return {
    columns: columns.map((column) => Float64Array.from(column)),
    weights,
    totals: Float64Array.from(totals),
  };
}

/** A table with one reward. */
export const single = (values: readonly number[]) => table([values]);
