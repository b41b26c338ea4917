/** How advantages could have come about: recomputed from the rewards under one hypothesis after another. */

import { BASELINES, SCALES } from '../../config/choices.js';
import { largest, moments } from '../../maths/moments.js';
import type { Declared, DeclaredSection, StepRecord } from '../../trace/index.js';
import { type Groups, groupsOf } from '../groups.js';
import { once } from '../once.js';
import { PLAIN, type Recipe, type Rewards, recompute } from '../recompute/advantage.js';
import { isWhole, WHOLE } from './group-advantages.js';

/** What explains the recorded advantages. */
export type Explanation =
  /** Too little is known. */
  | { kind: 'lacking'; what: string }
  /** What is declared, or one of the known ways where nothing is. */
  | { kind: 'declared' }
  /** As declared, and clipped besides. */
  | { kind: 'clipped'; bound: number }
  /** As declared, but for the clip. */
  | { kind: 'not clipped'; bound: number }
  | { kind: 'recipe'; recipe: Recipe }
  | { kind: 'other grouping' }
  | { kind: 'batch whitening' }
  /** As declared, with the other sign. */
  | { kind: 'turned' }
  | { kind: 'raw rewards'; completions: number[] }
  /** The declaration explains those of some groups and not of others. */
  | { kind: 'some groups'; groups: number; off: OffGroup[] }
  | { kind: 'nothing' };

/** A group whose advantages are not what those of others follow. */
export interface OffGroup {
  /** Its completions. */
  group: readonly number[];
  /** Recorded ÷ expected, where it is one number for the whole group. */
  factor?: number;
}

/** Rewards of a step, and what was made of them. */
interface Rewarded {
  rewards: Rewards;
  advantages: Float64Array;
  promptOf: Int32Array;
  declared: Declared;
}

/** Relative to max(1, |A|): sums in another order. */
const TOLERANCE = 2e-3;
/** Rounding of a mean and a difference in float32, relative to the largest reward. */
const FLOAT32 = 2 ** -22;
/** Several systems give a group 0 whose rewards differ by less. */
const NEARLY_FLAT = 0.01;
const EPSILONS = [1e-4, 1e-6, 1e-8, 0];

/** What explains the advantages of a record that has them, with rewards, prompts and declaration: several checks ask. */
export const explanationOf = once(
  ({ rewards, advantages, completions, declared }: StepRecord): Explanation => {
    const known = {
      rewards: columnsOf(rewards!),
      advantages: advantages!,
      promptOf: completions!.prompt!,
      declared: declared!,
    };
    if (!isWhole(known)) return { kind: 'lacking', what: WHOLE };
    const byTotals = known.declared.advantage?.combine !== 'normalize_then_sum';
    if (!byTotals && known.rewards.columns.length === 0)
      return { kind: 'lacking', what: 'rewards.values with rewards.weights' };
    return explain(known);
  },
);

/** The rewards of a record, with their columns where these are there as a whole. */
export function columnsOf({ totals, values, weights = [] }: NonNullable<StepRecord['rewards']>): Rewards {
  const B = totals!.length;
  const isWhole = values?.length === weights.length * B;
  return {
    totals: totals!,
    columns: isWhole ? weights.map((_, k) => values.subarray(k * B, (k + 1) * B)) : [],
    weights: isWhole ? weights : [],
  };
}

/** The first of the known ways that gives the recorded advantages. */
function explain({ rewards, advantages, promptOf, declared }: Rewarded): Explanation {
  const { totals } = rewards;
  const groups = groupsOf(promptOf);
  const fitsIn = (group: readonly number[], expected: Float64Array, tolerance: number, bound?: number) => {
    const slack = roundingOf(
      group.map((b) => totals[b]!),
      declared.advantage,
    );
    const skipped = declared.advantage?.flatBelow === undefined && isSkipped(group, totals, advantages);
    return group.every((b) => {
      const value = clipped(expected[b]!, bound);
      return skipped || Math.abs(value - advantages[b]!) <= tolerance * Math.max(1, Math.abs(value)) + slack;
    });
  };
  const { clip } = declared.advantage ?? {};
  const fits = (expected: Float64Array, tolerance = TOLERANCE, bound = clip) =>
    groups.every((group) => fitsIn(group, expected, tolerance, bound));
  const made = (way: Recipe, of: Groups = groups) => recompute(rewards, of, way);
  const ways = recipes(declared.advantage);
  if (ways.some((way) => fits(made(way)))) return { kind: 'declared' };
  const most = largest(advantages.map(Math.abs));
  if (ways.some((way) => fits(made(way), TOLERANCE, most)))
    return { kind: most > (declared.advantage?.clip ?? Infinity) ? 'not clipped' : 'clipped', bound: most };
  // Rewards in other blocks: [p1, p2, p1, p2] read as [p1, p1, p2, p2].
  const others = [interleaved(totals.length, groups) ?? [], ...shifted(totals.length, groups)];
  if (others.some((other) => other.length > 0 && ways.some((way) => fits(made(way, other)))))
    return { kind: 'other grouping' };
  if (fits(whitened(rewards, groups)) || (groups.length > 1 && fits(whitened(rewards, [[...totals.keys()]]))))
    return { kind: 'batch whitening' };
  const isRaw = (b: number) =>
    Math.abs(advantages[b]! - totals[b]!) <= 1e-6 * Math.max(1, Math.abs(totals[b]!));
  const raw = groups.filter((group) => group.every(isRaw) && group.some((b) => totals[b] !== 0));
  if (raw.length > 0) return { kind: 'raw rewards', completions: raw.flat() };
  if (ways.some((way) => fits(made(way).map((value) => -value)))) return { kind: 'turned' };
  // Small ε differ by less than the tolerance would tell apart.
  const recipe = BASELINES.flatMap((baseline) => recipes().map((way) => ({ ...way, baseline }))).find((way) =>
    fits(made(way), 1e-6),
  );
  if (recipe) return { kind: 'recipe', recipe };
  // The way that explains most counts, where several are open.
  const [best] = ways
    .map((way) => {
      const expected = made(way);
      return { expected, off: groups.filter((group) => !fitsIn(group, expected, TOLERANCE, clip)) };
    })
    .sort((a, b) => a.off.length - b.off.length);
  const told = groups.filter((group) => !best!.off.includes(group) && group.some((b) => advantages[b] !== 0));
  return told.length > 0
    ? {
        kind: 'some groups',
        groups: groups.length,
        off: best!.off.map((group) => offGroup(group, best!.expected, advantages)),
      }
    : { kind: 'nothing' };
}

function offGroup(group: readonly number[], expected: Float64Array, advantages: Float64Array): OffGroup {
  const factors = group.flatMap((b) => (expected[b] === 0 ? [] : advantages[b]! / expected[b]!));
  const [first = 0] = factors;
  const isOne = factors.every((factor) => Math.abs(factor - first) <= TOLERANCE * Math.abs(first));
  return { group, ...(factors.length > 1 && isOne && { factor: first }) };
}

/** How far rounding in float32 may carry advantages of a group: rewards are centred, then divided by little. */
export function roundingOf(
  rewards: readonly number[],
  { scale, epsilon = 1e-4 }: DeclaredSection<'advantage'> = {},
): number {
  const noise = FLOAT32 * Math.max(0, largest(rewards.map(Math.abs)));
  if (scale === 'none') return noise;
  const { mean, deviation } = moments(rewards, 1);
  // Rounding of the mean, by which rewards are divided that are at most G times as large.
  if (scale === 'mean') return mean > 0 ? (2 * rewards.length * noise) / mean : 0;
  return noise / ((deviation || 0) + Math.max(epsilon, 1e-6));
}

/** Every recipe that the declaration leaves open; of what only we declare, what is usual elsewhere. */
function recipes(declared: DeclaredSection<'advantage'> = {}): Recipe[] {
  const { scale, epsilon, ddof, combine } = declared;
  const scales = scale === undefined ? SCALES : [scale];
  const epsilons = epsilon === undefined ? EPSILONS : [epsilon];
  const ddofs = ddof === undefined ? [1, 0] : [ddof];
  const fixed: Recipe = { ...PLAIN, ...declared };
  const open = scales.flatMap((scale) =>
    epsilons.flatMap((epsilon) => ddofs.map((ddof): Recipe => ({ ...fixed, scale, epsilon, ddof }))),
  );
  // TRL's GDPO declares no scale.
  return combine === undefined && scale === undefined
    ? [...open, { ...fixed, combine: 'normalize_then_sum' }]
    : open;
}

/** Centred by group (the whole batch may be one), then centred and scaled over the batch. */
const whitened = (rewards: Rewards, groups: Groups): Float64Array =>
  recompute(rewards, groups, { ...PLAIN, scale: 'none', whiten: true });

/** Groups of every n-th completion, where all groups are of one size. */
function interleaved(count: number, groups: Groups): number[][] | undefined {
  const [first = []] = groups;
  if (groups.length < 2 || groups.some(({ length }) => length !== first.length)) return undefined;
  const n = groups.length;
  return Array.from({ length: n }, (_, g) => Array.from({ length: count / n }, (_, i) => g + i * n));
}

/** Groups that begin some completions late, where all are of one size. */
function shifted(count: number, groups: Groups): number[][][] {
  const [first = []] = groups;
  if (groups.length < 2 || groups.some(({ length }) => length !== first.length)) return [];
  return first
    .slice(1)
    .map((_, late) => groups.map((_, g) => first.map((_, i) => (g * first.length + i + late + 1) % count)));
}

/** Whether a group of nearly equal rewards was given 0 as a whole. */
function isSkipped(group: readonly number[], totals: Float64Array, advantages: Float64Array): boolean {
  if (group.some((b) => advantages[b] !== 0)) return false;
  return (
    moments(
      group.map((b) => totals[b]!),
      0,
    ).deviation < NEARLY_FLAT
  );
}

const clipped = (value: number, bound = Number.POSITIVE_INFINITY) => Math.max(-bound, Math.min(bound, value));
