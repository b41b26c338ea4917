/** Advantages from rewards, as `objective/advantage.ts` has them. */

import { largest, moments, smallest } from '../../maths/moments.js';
import type { DeclaredSection } from '../../trace/index.js';
import type { Groups } from '../groups.js';

/** A way to turn rewards into advantages: what a section `advantage` declares, before any clip. */
export type Recipe = Required<Omit<DeclaredSection<'advantage'>, 'clip'>>;

/** Everything off that can be off. */
export const PLAIN: Recipe = {
  baseline: 'group',
  scale: 'group',
  epsilon: 1e-4,
  ddof: 1,
  floor: 0,
  flatBelow: 0,
  flat: 'zero',
  whiten: false,
  combine: 'sum_then_normalize',
};

/** Rewards of a step; NaN where there is no value. */
export interface Rewards {
  totals: Float64Array;
  /** A column a reward, and their weights: what `normalize_then_sum` compares. */
  columns: readonly Float64Array[];
  weights: readonly number[];
}

/** Relative: sums of the same parts in another order. */
const ROUNDING = 1e-12;
const WHITENING = 1e-8;

/** Advantages before any clip; 0 where there is no reward. */
export function recompute(rewards: Rewards, groups: Groups, recipe: Recipe): Float64Array {
  const { totals } = rewards;
  const columns = rewards.columns.map((column) =>
    column.map((value, b) => (Number.isNaN(totals[b]!) ? Number.NaN : value)),
  );
  const known = { ...rewards, columns };
  const compared =
    recipe.combine === 'sum_then_normalize'
      ? relative(totals, groups, recipe)
      : normalizedSums(known, groups, recipe);
  const flat = flatGroups(known, groups, recipe).map((g) => groups[g]!);
  const zero = new Set(recipe.baseline === 'none' || recipe.flat === 'raw' ? [] : flat.flat());
  const dropped = new Set(recipe.flat === 'drop' && flat.length < groups.length ? flat.flat() : []);
  if (recipe.flat === 'raw' && recipe.baseline !== 'none')
    for (const b of flat.flat()) compared[b] = totals[b]!;
  for (const b of zero) compared[b] = 0;
  const counted = compared.map((value, b) =>
    Number.isNaN(totals[b]!) || dropped.has(b) ? Number.NaN : value,
  );
  const advantages = recipe.whiten ? standardized(counted, 1, WHITENING) : compared;
  return advantages.map((value, b) => (zero.has(b) || Number.isNaN(totals[b]!) ? 0 : value));
}

/** Places of the groups whose rewards are one number, or nearly so: the totals, or each reward that is compared. */
export function flatGroups({ totals, columns, weights }: Rewards, groups: Groups, recipe: Recipe): number[] {
  const compared =
    recipe.combine === 'sum_then_normalize' ? [totals] : columns.filter((_, k) => weights[k] !== 0);
  const isFlatIn = (group: readonly number[]) =>
    compared.every((column) => isFlat(valuesOf(column, group), recipe));
  return groups.flatMap((group, g) => (isFlatIn(group) ? [g] : []));
}

const valuesOf = (column: Float64Array, group: readonly number[]) =>
  Float64Array.from(group, (b) => column[b]!);

/** Whether values are one number, but for rounding. */
export function isEqual(values: Float64Array): boolean {
  const [least, most] = [smallest(values), largest(values)];
  return !(most - least > ROUNDING * Math.max(Math.abs(least), Math.abs(most)));
}

const isFlat = (values: Float64Array, { flatBelow, ddof }: Recipe) =>
  isEqual(values) || moments(values, ddof).deviation < flatBelow;

/** (value − baseline) / (deviation + ε), or / mean, within each group; 0 where there is no value. */
function relative(values: Float64Array, groups: Groups, recipe: Recipe): Float64Array {
  const { baseline, scale, epsilon, ddof, floor } = recipe;
  const deviationOf = (own: Float64Array) => (isEqual(own) ? 0 : moments(own, ddof).deviation);
  const batch = deviationOf(values);
  const advantages = new Float64Array(values.length);
  for (const group of groups) {
    const own = valuesOf(values, group);
    if (baseline !== 'none' && isEqual(own)) continue;
    const { mean, count } = moments(own, ddof);
    const deviation = Math.max(scale === 'batch' ? batch : deviationOf(own), floor) + epsilon;
    // MaxRL's mean is a share of right completions: of rewards below 0 it has no meaning.
    const isShare = own.every((value) => !(value < 0));
    const byMean = (centred: number) => (isShare ? (mean === 0 ? 0 : centred / mean) : Number.NaN);
    for (const b of group) {
      const value = values[b]!;
      if (Number.isNaN(value)) continue;
      const others = (mean * count - value) / (count - 1);
      const centred = value - { none: 0, group: mean, leave_one_out: others }[baseline];
      advantages[b] = {
        none: centred,
        group: centred / deviation,
        batch: centred / deviation,
        mean: byMean(centred),
      }[scale];
    }
  }
  return advantages;
}

/** Each reward compared by group, their weighted sum over the batch: GDPO. */
function normalizedSums({ totals, columns, weights }: Rewards, groups: Groups, recipe: Recipe): Float64Array {
  const parts = columns.map((column) => relative(column, groups, { ...recipe, scale: 'group' }));
  const sums = totals.map((total, b) =>
    Number.isNaN(total) ? total : parts.reduce((sum, part, k) => sum + weights[k]! * part[b]!, 0),
  );
  return standardized(sums, recipe.ddof, recipe.epsilon);
}

/** (value − mean) / (deviation + ε) over the batch; 0 where there is no value. */
function standardized(values: Float64Array, ddof: number, epsilon: number): Float64Array {
  if (isEqual(values.filter((value) => !Number.isNaN(value)))) return new Float64Array(values.length);
  const { mean, deviation } = moments(values, ddof);
  return values.map((value) => (Number.isNaN(value) ? 0 : (value - mean) / (deviation + epsilon)));
}
