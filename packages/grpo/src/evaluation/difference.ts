import { meanInterval } from '../maths/interval.js';
import { mean } from '../maths/moments.js';
import type { EvalCompletion } from './eval-completion.js';
import type { Estimate } from './eval-score.js';

/** How one model's evaluation differs from another's on the same problems. */
export interface Difference extends Estimate {
  /** What differs: the share of right completions, or the mean reward where the task cannot tell. */
  of: 'accuracy' | 'reward';
  /** Problems that the one does better at, and that the other does. */
  better: number;
  worse: number;
}

/**
 * The mean over problems of `one` minus `other`, for one way of decoding, with Student's 95 % interval. Being paired it
 * is narrower than the intervals of the two suggest: what is hard for one is often hard for the other.
 *
 * @returns null where no problem has a value from both
 */
export function differenceOf(
  one: readonly EvalCompletion[],
  other: readonly EvalCompletion[],
  decoding: EvalCompletion['decoding'],
): Difference | null {
  const of = one.every(({ correct }) => correct === null) ? 'reward' : 'accuracy';
  const ours = meansByProblem(one, decoding, of);
  const theirs = meansByProblem(other, decoding, of);
  const differences = [...ours].flatMap(([problem, value]) => {
    const against = theirs.get(problem);
    return against === undefined ? [] : [value - against];
  });
  if (differences.length === 0) return null;
  const interval = meanInterval(differences);
  return {
    of,
    mean: mean(differences),
    low: interval?.low ?? null,
    high: interval?.high ?? null,
    better: differences.filter((value) => value > 0).length,
    worse: differences.filter((value) => value < 0).length,
  };
}

/** The mean over each problem's completions that have a value. */
function meansByProblem(
  completions: readonly EvalCompletion[],
  decoding: EvalCompletion['decoding'],
  of: Difference['of'],
): Map<number, number> {
  const values = new Map<number, number[]>();
  for (const completion of completions) {
    const value = of === 'accuracy' ? Number(completion.correct) : completion.reward;
    if (completion.decoding !== decoding || value === null) continue;
    values.set(completion.problem, [...(values.get(completion.problem) ?? []), value]);
  }
  return new Map([...values].map(([problem, own]) => [problem, mean(own)]));
}
