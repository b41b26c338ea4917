import { describeError } from './describe-error.js';
import type { CompletionScore, RewardFunction } from './reward.js';

// Registered symbols, so that a user's module which brings its own copy of this package still counts.
const PER_COMPLETION = Symbol.for('grpo.reward.perCompletion');
const PARTIAL = Symbol.for('grpo.reward.partialFailure');

/** A completion that could not be scored. */
export interface CompletionFailure {
  /** Place in the batch. */
  index: number;
  reason: string;
}

/** Thrown when some completions of a batch could not be scored and the others could. */
export class PartialFailure extends Error {
  readonly [PARTIAL] = true;

  constructor(
    /** One entry per completion; those of failed completions mean nothing. */
    readonly values: unknown[],
    readonly failures: CompletionFailure[],
  ) {
    super(`${failures.length} of ${values.length} completions could not be scored`);
  }
}

export function isPartialFailure(error: unknown): error is PartialFailure {
  return typeof error === 'object' && error !== null && PARTIAL in error;
}

/** Whether the function was made by {@link each}: then the value of a completion does not depend on its batch. */
export function isPerCompletion(score: RewardFunction<never>): boolean {
  return PER_COMPLETION in score;
}

/** Marks a function that stands for one made by {@link each} on the other side of a worker. */
export function markPerCompletion<F extends RewardFunction<never>>(score: F): F {
  return Object.assign(score, { [PER_COMPLETION]: true });
}

/**
 * Makes a reward function of a function that scores one completion. All completions of a batch are scored
 * concurrently, and when one fails, it alone has no value.
 *
 * @example
 * import { each } from 'grpo/rewards';
 *
 * export default each((completion, row) => (completion.includes(String(row.answer)) ? 1 : 0));
 */
export function each<Row = Record<string, unknown>>(score: CompletionScore<Row>): RewardFunction<Row> {
  return markPerCompletion(async ({ completions, rows, prompts }) => {
    const results = await Promise.allSettled(
      completions.map(async (completion, i) => score(completion, rows[i]!, prompts[i]!)),
    );
    const values = results.map((result) => (result.status === 'fulfilled' ? result.value : null));
    const failures = results.flatMap((result, index) =>
      result.status === 'rejected' ? [{ index, reason: describeError(result.reason) }] : [],
    );
    if (failures.length > 0) throw new PartialFailure(values, failures);
    return values;
  });
}
