/** Recorded rewards that grading again does not give: whose they are. */
import { isDeepStrictEqual } from 'node:util';
import type { Reward } from '../../rewards/index.js';
import type { Comparison } from '../../trace/index.js';
import { problemOf } from '../places.js';
import { type Pair, worstOf } from '../worst.js';
import { type GradedBatch, type Grades, gradeAgain } from './grade-again.js';

/** What explains that a reward's recorded values are not those of a second grading. */
export interface PairingContext {
  batch: GradedBatch;
  reward: Reward;
  /** By completion, as the step has them. */
  recorded: Float64Array;
  /** What the step's own stage gives when it is asked again. */
  again: Float64Array | undefined;
  /** Whether two values are one, but for rounding. */
  isSame(a: number, b: number): boolean;
}

/** What was found: comparisons, or why the values cannot be compared. */
export type Explained = { comparisons: Comparison[] } | { missing: string };

/**
 * Tells rewards of the wrong completion, row or place from rewards that are no function of the completion: those have a
 * state or draw at random, and differ from themselves.
 */
export async function explainRewards(context: PairingContext): Promise<Explained> {
  const { batch, reward, recorded, again, isSame } = context;
  const all = recorded.map((_, completion) => completion);
  const graded = (rowOf = (p: number) => p, order: Iterable<number> = all) =>
    gradeAgain(
      reward,
      batch,
      Array.from(order, (completion) => ({ completion, problem: rowOf(problemOf(batch, completion)) })),
    );
  const own = await graded();
  if (typeof own === 'string') return { missing: `the values of the reward ${reward.name}: ${own}` };
  const fits = (grades: Grades, values: Float64Array) =>
    typeof grades !== 'string' && values.every((value, b) => isSame(value, grades.get(b)!));
  const isFunction = fits(
    await graded(),
    Float64Array.from(all, (b) => own.get(b)!),
  );
  if (!isFunction) return { missing: noFunction(reward) };
  // The stage gives the recorded values no more: something went wrong that once, or the reward has a state.
  if (!reward.isStateless && again !== undefined && fits(own, again) && !fits(own, recorded)) {
    // Three values or more do not change places by a state.
    const other = new Set(recorded).size > 2 ? otherCompletion(context, own) : undefined;
    return other ? { comparisons: other } : { missing: noFunction(reward) };
  }
  if (fits(own, recorded)) {
    const reversed = await graded(undefined, [...all].reverse());
    // It may compare the completions of a whole batch, and of equal ones choose by their order.
    const earned = (of: (b: number) => number | undefined) =>
      Array.from(all, (b) => JSON.stringify([batch.completions_B[b]!.text, of(b)])).sort();
    if (
      typeof reversed === 'string' ||
      fits(reversed, recorded) ||
      isDeepStrictEqual(
        earned((b) => recorded[b]),
        earned((b) => reversed.get(b)),
      )
    )
      return { comparisons: [] };
    return { comparisons: valuesApart(`reward ${reward.name} in another order`, context, reversed) };
  }
  return {
    comparisons: [
      ...(otherCompletion(context, own) ?? (await otherRow(context, graded))),
      ...valuesApart(`reward ${reward.name}`, context, own),
    ],
  };
}

/** What is missing where a reward draws at random, or has a state. */
export const noFunction = ({ name }: Reward): string =>
  `a reward that depends on its completion alone: ${name} gives other values when it is asked again`;

/** The completion of the same batch that a recorded value belongs to, where the values are in another order. */
function otherCompletion(
  { reward, recorded, isSame }: PairingContext,
  own: ReadonlyMap<number, number>,
): Comparison[] | undefined {
  const sorted = (values: Iterable<number>) => Float64Array.from(values).sort();
  const [was, is] = [sorted(recorded), sorted(recorded.map((_, b) => own.get(b)!))];
  if (!was.every((value, i) => isSame(value, is[i]!))) return undefined;
  const B = recorded.length;
  const isShiftedBy = (by: number) =>
    recorded.every((value, b) => isSame(value, own.get((((b + by) % B) + B) % B)!));
  const by = [...Array(B).keys()].flatMap((n) => [n, -n]).find(isShiftedBy);
  const completion = recorded.findIndex((value, b) => !isSame(value, own.get(b)!));
  const other =
    by === undefined
      ? recorded.findIndex((_, b) => isSame(recorded[completion]!, own.get(b)!))
      : (completion + by + B) % B;
  return pairing(
    `completion that the value of the reward ${reward.name} belongs to`,
    'completion',
    completion,
    other,
  );
}

/** The row that the completions were graded with, where it is that of a neighbour or the first. */
async function otherRow(
  { batch, reward, recorded, isSame }: PairingContext,
  graded: (rowOf: (p: number) => number) => Promise<Grades>,
): Promise<Comparison[]> {
  const { length } = batch.problems;
  for (const rowOf of [(p: number) => (p + 1) % length, (p: number) => (p + length - 1) % length, () => 0]) {
    const grades = await graded(rowOf);
    if (typeof grades === 'string' || !recorded.every((value, b) => isSame(value, grades.get(b)!))) continue;
    const p = batch.problems.findIndex((_, place) => rowOf(place) !== place);
    if (p >= 0)
      return pairing(`prompt whose row the reward ${reward.name} grades with`, 'prompt', p, rowOf(p));
  }
  return [];
}

const pairing = (quantity: string, kind: 'prompt' | 'completion', own: number, other: number): Comparison[] =>
  worstOf('reward', quantity, [
    {
      found: `${kind} ${other + 1}`,
      plain: `${kind} ${own + 1}`,
      bound: 0,
      deviation: 1,
      [kind]: own,
    },
  ]);

function valuesApart(
  quantity: string,
  { recorded, isSame }: PairingContext,
  grades: ReadonlyMap<number, number>,
): Comparison[] {
  return worstOf(
    'reward',
    quantity,
    Array.from(recorded, (found, completion): Pair => {
      const plain = grades.get(completion)!;
      return { found, plain, bound: 0, completion, ...(isSame(found, plain) && { deviation: 0 }) };
    }),
  );
}
