import { membersOf, scoredRows } from '../../doctor/inputs.js';
import { type EntropyWeight, entropyWeightsOf } from '../../doctor/recompute/micro-batches.js';
import { UserError } from '../../errors/user-error.js';
import { readCompletions, type StepRecord, type UpdateRecord } from '../../trace/index.js';
import { lossRowsOf, rowSlopesOf, slopesOf, weightsOf } from '../../view/loss-rows.js';
import type { OpenRuns } from '../open-runs.js';
import { bonusOf } from './loss-shares.js';
import { headOf, recordOf, type StepPlace } from './step-records.js';
import { withTerms } from './with-terms.js';

/** One completion of a step, in a record that has its tokens. */
export interface CompletionRecord {
  /** Of the step, with the masks of all its completions. */
  head: StepRecord;
  /** Of this completion alone, where it is cut, or of the whole step. */
  record: StepRecord;
  isCut: boolean;
  /** Place of the completion in the record. */
  place: number;
  /** Its place in the step. */
  index: number;
}

/** @throws UserError for a completion that is not there */
export async function completionRecordOf(
  runs: OpenRuns,
  at: StepPlace & { index: number },
): Promise<CompletionRecord> {
  const { record: head, folder } = await headOf(runs, at);
  const { index } = at;
  const { prompt, lengths, texts } = head.completions ?? {};
  const count = (prompt ?? lengths ?? texts ?? []).length;
  if (!Number.isInteger(index) || index < 0 || index >= count)
    throw new UserError(`step ${at.step} has no completion ${index}`, {
      hint: `It has ${count}, counted from 0.`,
    });
  if (folder === undefined) return { head, record: head, isCut: false, place: index, index };
  // Tokens of highest entropy are chosen among those of a whole micro-batch.
  if ((head.declared?.entropy?.topShare ?? 1) < 1)
    return { head, record: await recordOf(runs, at), isCut: false, place: index, index };
  return { head, record: readCompletions(folder, head, [index]), isCut: true, place: 0, index };
}

/** An update as one of its completions has it: its row in the update, and what depends on the other completions. */
export interface CompletionUpdate {
  record: StepRecord;
  update: UpdateRecord;
  row: number;
  /** What its tokens count in the entropy of the bonus. */
  entropyWeights?: readonly EntropyWeight[] | string;
  /** d loss / d log π of its tokens; undefined where the record does not tell enough. */
  slopes(): { policy: Float64Array; kl: Float64Array } | undefined;
}

/**
 * With the terms and weights that its producer did not record, where they follow from its settings.
 *
 * @returns undefined where the update does not train on the completion
 */
export function completionUpdateOf(own: CompletionRecord, u: number): CompletionUpdate | undefined {
  const { head, place, index, isCut } = own;
  const recorded = own.record.updates?.[u];
  const row = recorded ? membersOf(own.record, recorded).indexOf(place) : -1;
  if (!recorded || row < 0) return undefined;
  const isFull = recorded.policyTerms && recorded.weights;
  const record = isFull ? own.record : withTerms(own.record).record;
  const update = record.updates![u]!;
  if (!isCut) {
    const slopes = () => {
      const all = slopesOf(record, update);
      return all && { policy: all.policy[row]!, kl: all.kl[row]! };
    };
    return { record, update, row, slopes };
  }
  const whole = head.updates![u]!;
  const inWhole = membersOf(head, whole).indexOf(index);
  const ways = weightsOf(head, whole);
  const weights =
    typeof ways === 'string' ? undefined : { policy: ways.policy[inWhole]!, kl: ways.kl[inWhole]! };
  const entropyWeights = bonusOf(head, whole) === 0 ? [] : entropyWeightsOf(head.declared ?? {}, head, whole);
  const rows = lossRowsOf(own.record, recorded);
  return {
    record,
    update: recorded.weights ? update : withWeights(record, update, weights),
    row,
    entropyWeights:
      typeof entropyWeights === 'string' ? entropyWeights : entropyWeights.slice(inWhole, inWhole + 1),
    slopes: () =>
      typeof rows === 'string' || !weights
        ? undefined
        : rowSlopesOf(record.declared ?? {}, rows[row]!, weights),
  };
}

/** Weights that follow from a record of one completion alone are those of an update of it alone. */
function withWeights(
  record: StepRecord,
  { weights: _, klWeights: __, ...update }: UpdateRecord,
  weights: { policy: number; kl: number } | undefined,
): UpdateRecord {
  const count = update.policyTerms?.length;
  if (!weights || count === undefined) return update;
  const mask = scoredRows(record, update, 'mask')?.[0];
  const each = (weight: number) =>
    Float32Array.from({ length: count }, (_, t) => (mask?.[t] === 0 ? 0 : weight));
  return {
    ...update,
    weights: each(weights.policy),
    ...(weights.kl !== weights.policy && { klWeights: each(weights.kl) }),
  };
}
