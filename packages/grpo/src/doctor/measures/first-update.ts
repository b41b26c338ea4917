/** The first update of a step: the policy is still the one that sampled. */

import { smallest } from '../../maths/moments.js';
import type { StepRecord } from '../../trace/index.js';
import { inputs, membersOf, replayedOf } from '../inputs.js';
import { once, onceOfBoth } from '../once.js';
import { compare, type Gap, toleranceOf } from '../tolerance.js';

const chosen = onceOfBoth((members: readonly number[], rows: readonly unknown[]): readonly unknown[] =>
  members.map((b) => rows[b]),
);

/** The rows of all completions that belong to the first update. */
export function ofFirstUpdate<A>(record: StepRecord, rows: readonly A[]): readonly A[] {
  return chosen(membersOf(record, record.updates![0]!), rows) as readonly A[];
}

/** The loss masks of the first update's completions, where they are known. */
export function firstMasks(record: StepRecord): readonly Uint8Array[] | undefined {
  const masks = inputs.masks.from(record);
  return masks && ofFirstUpdate(record, masks);
}

/** The same, with nothing of completions that an earlier policy sampled. */
export const sampledMasks = once((record: StepRecord): readonly Uint8Array[] | undefined => {
  const masks = firstMasks(record);
  if (!record.prompts?.replayed?.some((step) => step !== 0)) return masks;
  const replayed = replayedOf(record);
  const lengths = inputs.scoredLengths.from(record) ?? inputs.lengths.from(record)!;
  return membersOf(record, record.updates![0]!).map((b, row) =>
    replayed(b) ? new Uint8Array(lengths[b]!) : (masks?.[row] ?? new Uint8Array(lengths[b]!).fill(1)),
  );
});

type Rows = readonly Float32Array[];

const plainGap = onceOfBoth((a: Rows, b: Rows) => compare(a, b));
const maskedGap = onceOfBoth((a: Rows, b: Rows) =>
  once((masks: readonly Uint8Array[]) => compare(a, b, masks)),
);

/**
 * Compares rows of the first update with rows of all completions, over the tokens that enter the loss and that the policy
 * of this step sampled.
 */
export function compareFirst(
  record: StepRecord,
  rows: readonly Float32Array[],
  others: readonly Float32Array[],
): Gap {
  const chosenOthers = ofFirstUpdate(record, others);
  const masks = sampledMasks(record);
  return masks ? maskedGap(rows, chosenOthers)(masks) : plainGap(rows, chosenOthers);
}

/** Tokens before the place, and tokens that differ, that show that a gap begins there; logarithm of what chance does. */
const [BEFORE, APART, NO_CHANCE] = [20, 3, Math.log(1e-4)];

/**
 * The place in a completion before which no token of the first update is `limit` apart, where so many are behind it that
 * chance does not put them there; undefined where there is none.
 */
export function placeOfGap(
  record: StepRecord,
  rows: readonly Float32Array[],
  others: readonly Float32Array[],
  limit: number,
): number | undefined {
  const chosenOthers = ofFirstUpdate(record, others);
  const masks = sampledMasks(record);
  const tokens = rows.flatMap((row, b) =>
    row.length !== chosenOthers[b]?.length
      ? []
      : Array.from(row, (value, t) => ({ t, gap: Math.abs(value - chosenOthers[b]![t]!) })).filter(
          ({ t }) => masks?.[b]?.[t] !== 0,
        ),
  );
  const apart = tokens.filter(({ gap }) => gap > limit);
  const place = smallest(apart.map(({ t }) => t));
  const behind = tokens.filter(({ t }) => t >= place).length;
  const isTold =
    apart.length >= APART &&
    tokens.length - behind >= BEFORE &&
    apart.length * Math.log(behind / tokens.length) < NO_CHANCE;
  return isTold ? place : undefined;
}

/** Whether policy and reference have the same weights, by their checksums. */
export const hasEqualWeights = ({ probes }: StepRecord): boolean =>
  probes?.checksums !== undefined && probes.checksums.policy === probes.checksums.reference;

/** Whether log-probs of all completions are the sampler's, within the tolerance of the precision. */
export function agreesWithSampler(record: StepRecord, logprobs: readonly Float32Array[]): boolean {
  const sampler = inputs.comparableLogprobs.from(record);
  if (!sampler) return false;
  return compareFirst(record, ofFirstUpdate(record, logprobs), sampler).mean <= toleranceOf(record).mean;
}

/** Completion and token of a place in the first update's rows, for evidence. */
export function placeOf(record: StepRecord, { row, token }: { row: number; token: number }) {
  return { completion: membersOf(record, record.updates![0]!)[row]!, token };
}
