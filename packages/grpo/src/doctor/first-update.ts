/** The first update of a step: the policy is still the one that sampled. */

import type { StepRecord } from '../trace/index.js';
import { membersOf } from './inputs.js';

/** The rows of all completions that belong to the first update. */
export function ofFirstUpdate<A>(record: StepRecord, rows: readonly A[]): A[] {
  return membersOf(record, record.updates![0]!).map((b) => rows[b]!);
}

/** Completion and token of a place in the first update’s rows, for evidence. */
export function placeOf(record: StepRecord, { row, token }: { row: number; token: number }) {
  return { completion: membersOf(record, record.updates![0]!)[row]!, token };
}
