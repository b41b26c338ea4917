/** How advantages could have come about: recomputed from the rewards under one hypothesis after another. */
import type { Declared } from '../trace/index.js';
import { groupsOf, isFlat, mean, moments } from './statistics.js';

/** A way to turn rewards into advantages. */
export interface Recipe {
  scale: 'group' | 'batch' | 'none';
  epsilon: number;
  ddof: 0 | 1;
}

/** What explains the recorded advantages. */
export type Explanation =
  | { kind: 'declared' }
  | { kind: 'recipe'; recipe: Recipe }
  | { kind: 'other grouping' }
  | { kind: 'batch whitening' }
  | { kind: 'raw rewards'; completions: number[] }
  | { kind: 'nothing' };

/** Absolute, on advantages of order 1: float32 rewards and sums in another order. */
const TOLERANCE = 2e-3;

/** The first of the known ways that gives the recorded advantages. */
export function explain(
  totals: Float64Array,
  advantages: Float64Array,
  promptOf: Int32Array,
  declared: Declared,
): Explanation {
  const groups = groupsOf(promptOf);
  const fits = (expected: Float64Array, tolerance = TOLERANCE) =>
    expected.every(
      (value, b) => Math.abs(value - advantages[b]!) <= tolerance * Math.max(1, Math.abs(value)),
    );
  const told: Recipe = {
    scale: declared.scaleRewards ?? 'group',
    epsilon: declared.advantageEpsilon ?? 1e-4,
    ddof: declared.advantageDdof === 0 ? 0 : 1,
  };
  if (fits(clip(recompute(totals, groups, told), declared.advantageClip))) return { kind: 'declared' };
  // Rewards in other blocks: [p1, p2, p1, p2] read as [p1, p1, p2, p2].
  const crossed = interleaved(totals.length, groups.length);
  if (groups.length > 1 && fits(recompute(totals, crossed, told))) return { kind: 'other grouping' };
  if (fits(whitened(totals, groups))) return { kind: 'batch whitening' };
  const raw = groups.filter(
    (group) => group.every((b) => advantages[b] === totals[b]) && group.some((b) => totals[b] !== 0),
  );
  if (raw.length > 0) return { kind: 'raw rewards', completions: raw.flat() };
  for (const scale of ['group', 'batch', 'none'] as const) {
    for (const ddof of [1, 0] as const) {
      for (const epsilon of [1e-4, 1e-6, 1e-8, 0]) {
        // Small ε differ by less than the tolerance would tell apart.
        if (fits(recompute(totals, groups, { scale, epsilon, ddof }), 1e-6))
          return { kind: 'recipe', recipe: { scale, epsilon, ddof } };
      }
    }
  }
  return { kind: 'nothing' };
}

/** (reward − mean of the group) / (deviation + ε); 0 for a group of equal rewards and for what was not scored. */
function recompute(
  totals: Float64Array,
  groups: readonly number[][],
  { scale, epsilon, ddof }: Recipe,
): Float64Array {
  const advantages = new Float64Array(totals.length);
  const batch = moments(totals, ddof).deviation;
  for (const group of groups) {
    const rewards = group.map((b) => totals[b]!);
    if (isFlat(rewards)) continue;
    const own = moments(rewards, ddof);
    const divisor = scale === 'none' ? 1 : (scale === 'group' ? own.deviation : batch) + epsilon;
    for (const b of group) if (!Number.isNaN(totals[b]!)) advantages[b] = (totals[b]! - own.mean) / divisor;
  }
  return advantages;
}

/** Centred by group, then centred and scaled over the batch, as in seed 003. */
function whitened(totals: Float64Array, groups: readonly number[][]): Float64Array {
  const centred = new Float64Array(totals.length);
  for (const group of groups) {
    const centre = mean(group.map((b) => totals[b]!));
    for (const b of group) centred[b] = totals[b]! - centre;
  }
  const { mean: centre, deviation } = moments(centred, 1);
  return centred.map((value) => (value - centre) / (deviation + 1e-8));
}

/** Groups of every n-th completion. */
function interleaved(count: number, n: number): number[][] {
  return Array.from({ length: n }, (_, g) => Array.from({ length: count / n }, (_, i) => g + i * n));
}

function clip(values: Float64Array, bound: number | undefined): Float64Array {
  return bound === undefined ? values : values.map((value) => Math.max(-bound, Math.min(bound, value)));
}
