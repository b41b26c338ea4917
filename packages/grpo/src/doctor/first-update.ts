/** The first update of a step: the policy is still the one that sampled. */

import type { StepRecord } from '../trace/index.js';
import { inputs, membersOf } from './inputs.js';
import { compare, type Gap } from './tolerance.js';

/** The rows of all completions that belong to the first update. */
export function ofFirstUpdate<A>(record: StepRecord, rows: readonly A[]): A[] {
  return membersOf(record, record.updates![0]!).map((b) => rows[b]!);
}

/** The loss masks of the first update's completions, where they are known. */
export function firstMasks(record: StepRecord): Uint8Array[] | undefined {
  const masks = inputs.masks.from(record);
  return masks && ofFirstUpdate(record, masks);
}

/** Compares rows of the first update with rows of all completions, over the tokens that enter the loss. */
export function compareFirst(
  record: StepRecord,
  rows: readonly Float32Array[],
  others: readonly Float32Array[],
): Gap {
  return compare(rows, ofFirstUpdate(record, others), firstMasks(record));
}

/** Completion and token of a place in the first update's rows, for evidence. */
export function placeOf(record: StepRecord, { row, token }: { row: number; token: number }) {
  return { completion: membersOf(record, record.updates![0]!)[row]!, token };
}
