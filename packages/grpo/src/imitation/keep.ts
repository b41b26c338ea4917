import type { Config } from '../config/schema.js';
import type { Batch } from '../step/batch.js';
import type { Task } from '../tasks/task.js';

/**
 * The completions that expert iteration imitates: those with a reward of at least `threshold`, or without one the right
 * ones. A completion whose reward failed is not among them.
 *
 * @returns their places among the B, problem after problem, within a problem the best-rewarded first
 */
export function keepGood(
  { problems, completions_B, rewards_B, groupSize }: Batch,
  task: Task,
  { threshold, unique, perProblem }: Config['expert'],
): number[] {
  const text = (b: number) => completions_B[b]!.text;
  return problems.flatMap(({ row }, p) => {
    const isGood = (b: number) =>
      threshold === undefined ? task.isCorrect?.(text(b), row) === true : rewards_B[b]! >= threshold;
    const good = Array.from({ length: groupSize }, (_, g) => p * groupSize + g)
      .filter((b) => !Number.isNaN(rewards_B[b]) && isGood(b))
      // Stable: equal rewards stay in the order of sampling.
      .sort((a, b) => rewards_B[b]! - rewards_B[a]!);
    const texts = good.map(text);
    return good.filter((_, i) => !unique || texts.indexOf(texts[i]!) === i).slice(0, perProblem);
  });
}
