/** A check of every update of a step. */
import type { UpdateRecord } from '../trace/index.js';
import { type Evidence, fail, notApplicable, type Outcome, pass } from './outcome.js';

/**
 * Asks every update. `test` returns what is missing as text, where it does not hold as evidence, or undefined.
 */
export function overUpdates(
  updates: readonly UpdateRecord[],
  test: (update: UpdateRecord) => string | Evidence | undefined,
): Outcome {
  const answers = updates.map(test);
  const judged = answers.filter((answer) => typeof answer !== 'string');
  if (judged.length === 0) return notApplicable(...new Set(answers as string[]));
  const broken = answers.flatMap((answer, update): Evidence[] =>
    typeof answer === 'object' ? [{ ...answer, values: { update: update + 1, ...answer.values } }] : [],
  );
  const measured = { updates: judged.length, broken: broken.length, ...broken[0]?.values };
  return broken.length > 0 ? fail(measured, broken) : pass({ updates: judged.length });
}
