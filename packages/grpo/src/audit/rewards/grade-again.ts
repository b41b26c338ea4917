import { describeError } from '../../rewards/describe-error.js';
import { isPartialFailure } from '../../rewards/each.js';
import type { Reward } from '../../rewards/index.js';
import type { Completion } from '../../rollout/index.js';
import type { Problem } from '../../tasks/task.js';

/** Completions and the problems that they answer: problem after problem, as many of each. */
export interface GradedBatch {
  problems: readonly Problem[];
  completions_B: readonly Pick<Completion, 'text' | 'ids'>[];
}

/** What a completion is graded with. */
export interface Graded {
  completion: number;
  /** The problem that it is graded as an answer to: its own, unless another is tried. */
  problem: number;
}

/** What a reward gave: NaN where it has no opinion or failed on the one completion; in words, why it gave nothing. */
export type Grades = ReadonlyMap<number, number> | string;

/** Grades completions of a step once more by one reward, in the given order, and reads its values plainly. */
export async function gradeAgain(
  reward: Reward,
  batch: GradedBatch,
  graded: readonly Graded[],
): Promise<Grades> {
  const problems = graded.map(({ problem }) => batch.problems[problem]!);
  const completions = graded.map(({ completion }) => batch.completions_B[completion]!);
  let values: readonly unknown[];
  try {
    values = await reward.score({
      prompts: problems.map(({ prompt }) => prompt),
      completions: completions.map(({ text }) => text),
      completionIds: completions.map(({ ids }) => [...ids]),
      rows: problems.map(({ row }) => row),
    });
  } catch (error) {
    // A reward may fail by right; the step has reported its own failures.
    if (!isPartialFailure(error)) return describeError(error);
    const failed = new Set(error.failures.map(({ index }) => index));
    values = error.values.map((value, i) => (failed.has(i) ? null : value));
  }
  return new Map(graded.map(({ completion }, i) => [completion, numberIn(values[i])]));
}

/** The number of a reward's answer: itself, or that of a verdict. */
function numberIn(answer: unknown): number {
  const value =
    typeof answer === 'object' && answer !== null ? (answer as { value?: unknown }).value : answer;
  return typeof value === 'number' ? value : Number.NaN;
}
