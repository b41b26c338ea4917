/** A check of every update of a step. */
import type { UpdateRecord } from '../../trace/index.js';
import {
  type Evidence,
  type EvidenceOf,
  fail,
  type Measurements,
  notApplicable,
  type Outcome,
  pass,
} from '../outcome.js';

/**
 * Asks every update. `test` returns what is missing as text, where it does not hold as evidence, or undefined.
 */
export function overUpdates<V extends Measurements>(
  updates: readonly UpdateRecord[],
  test: (update: UpdateRecord) => string | EvidenceOf<V> | undefined,
): Outcome<V & { updates: number; broken: number }> {
  const answers = updates.map(test);
  const judged = answers.filter((answer) => typeof answer !== 'string');
  if (judged.length === 0) return notApplicable(...new Set(answers as string[]));
  const broken = answers.flatMap((answer, update) =>
    typeof answer === 'object' ? [{ ...answer, update: update + 1 }] : [],
  );
  const [first] = broken;
  if (!first) return pass({ updates: judged.length });
  const evidence = broken.map(
    ({ update, ...answer }): Evidence => ({ ...answer, values: { update, ...answer.values } }),
  );
  return fail(
    { updates: judged.length, broken: broken.length, update: first.update, ...first.values },
    evidence,
  );
}
