import { describeError } from './describe-error.js';
import { isPartialFailure } from './each.js';

/** The search may take this many times as long as the batch did, plus a second. */
const PATIENCE = 10;

/** Completions in a row from the first that each take as long as the batch did and fail: the others would do no better. */
const HUNG = 4;

/**
 * Scores completions one at a time, after the batch as a whole has failed, to learn which of them are to blame.
 *
 * @param score - the values for a batch of the i-th completion alone
 * @param milliseconds - how long the batch took until it failed; bounds the search
 * @param findAll - go on after the first failure; completions that are left when the time is up then count as failed
 * @returns the value of each completion reached, why the failed ones failed, and whether the time ran out
 */
export async function scoreSingly(
  score: (index: number) => Promise<unknown[]>,
  count: number,
  { milliseconds, findAll }: { milliseconds: number; findAll: boolean },
): Promise<{ values: unknown[]; reasons: Map<number, string>; cut: boolean }> {
  const values: unknown[] = new Array(count).fill(null);
  const reasons = new Map<number, string>();
  const end = performance.now() + PATIENCE * milliseconds + 1000;
  let cut = false;
  let hung = 0;
  for (let i = 0; i < count && (findAll || reasons.size === 0); i++) {
    cut ||= performance.now() > end || (hung === i && hung >= HUNG);
    if (cut) {
      if (reasons.size > 0) reasons.set(i, 'was not scored: the failures before it took too long');
      continue;
    }
    const started = performance.now();
    try {
      values[i] = (await score(i))[0];
    } catch (error) {
      reasons.set(i, isPartialFailure(error) ? error.failures[0]!.reason : describeError(error));
      if (performance.now() - started >= Math.max(1000, 0.9 * milliseconds)) hung++;
    }
  }
  return { values, reasons, cut };
}
