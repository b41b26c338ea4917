/** Some completions of a step with their tokens: of a large step no others are read. */
import { membersOf, scoredRows } from '../../doctor/inputs.js';
import { once } from '../../doctor/once.js';
import { type EntropyWeight, entropyWeightsOf } from '../../doctor/recompute/micro-batches.js';
import { joinRows } from '../../maths/lists.js';
import { readCompletions, type StepRecord, type UpdateRecord } from '../../trace/index.js';
import { lossRowsOf, rowSlopesOf, slopesOf, weightsOf } from '../../view/loss-rows.js';
import { replayRecord } from '../../view/replay-record.js';
import type { ReplaySettings } from '../../view/replay-settings.js';
import type { OpenRuns } from '../open-runs.js';
import { bonusOf } from './loss-shares.js';
import { headOf, recordOf, type StepPlace } from './step-records.js';
import { withTerms } from './with-terms.js';

/** A record that has the tokens of some completions. */
export interface CompletionsRecord {
  /** Of the step, with the masks of all its completions. */
  head: StepRecord;
  record: StepRecord;
  /** The places in the step of the record's completions; missing where it has all. */
  chosen?: readonly number[];
}

/** @param chosen - completions, ascending */
export async function completionsOf(
  runs: OpenRuns,
  at: StepPlace,
  chosen: readonly number[],
): Promise<CompletionsRecord> {
  const { record: head, folder } = await headOf(runs, at);
  if (folder === undefined) return { head, record: head };
  // Tokens of highest entropy are chosen among those of a whole micro-batch.
  if ((head.declared?.entropy?.topShare ?? 1) < 1) return { head, record: await recordOf(runs, at) };
  return { head, record: readCompletions(folder, head, chosen), chosen };
}

const PART_TOKENS = 2 ** 18;

/** The completions of an update in several records, one after another, so that a large step needs little memory. */
export async function* inParts(runs: OpenRuns, at: StepPlace, u: number): AsyncIterable<CompletionsRecord> {
  const { record: head } = await headOf(runs, at);
  const members = [...membersOf(head, head.updates![u]!)].sort((a, b) => a - b);
  const lengths = head.scored?.lengths ?? head.completions?.lengths ?? [];
  for (let start = 0; start < members.length; ) {
    let [end, tokens] = [start, 0];
    while (end < members.length && (end === start || tokens + lengths[members[end]!]! <= PART_TOKENS))
      tokens += lengths[members[end++]!]!;
    const own = await completionsOf(runs, at, members.slice(start, end));
    yield own;
    if (!own.chosen) return;
    start = end;
  }
}

/** An update as some of its completions have it. */
export interface TrainedRows {
  record: StepRecord;
  update: UpdateRecord;
  /** The completion of each row, by its place in the step. */
  members: readonly number[];
  /** Weights of their tokens in the entropy bonus; follow from the record when missing. */
  entropyWeights?: readonly EntropyWeight[] | string;
  /** The part that the record lacks for terms and weights. */
  lack?: string | undefined;
  /** d loss / d log π of the tokens of a row; undefined where the record does not tell enough. */
  slopes(row: number): { policy: Float64Array; kl: Float64Array } | undefined;
}

/**
 * The rows of an update with the terms and weights that its producer did not record, where they follow from its settings;
 * or with those of other settings, which must leave the weights as they are.
 *
 * @returns undefined for an update that is not there
 * @throws NotInRecordError for settings that change more than follows from the record
 */
export function trainedRows(
  { head, record: own, chosen }: CompletionsRecord,
  u: number,
  settings?: ReplaySettings,
): TrainedRows | undefined {
  const recorded = own.updates?.[u];
  const whole = head.updates?.[u];
  if (!recorded || !whole) return undefined;
  const isFull = recorded.policyTerms && recorded.weights;
  const { record, lack = undefined } = settings
    ? { record: replayRecord(own, settings) }
    : isFull
      ? { record: own }
      : withTerms(own);
  const update = record.updates![u]!;
  const members = membersOf(own, recorded).map((b) => chosen?.[b] ?? b);
  if (!chosen) {
    const slopes = (row: number) => {
      const { policy, kl } = updateSlopes(record)(update) ?? {};
      return policy && kl && { policy: policy[row]!, kl: kl[row]! };
    };
    return { record, update, members, lack, slopes };
  }
  const inWhole = members.map((b) => membersOf(head, whole).indexOf(b));
  const ways = weightsOf(head, whole);
  const entropyWeights = bonusOf(head, whole) === 0 ? [] : entropyWeightsOf(head.declared ?? {}, head, whole);
  const rows = lossRowsOf(record, update);
  const weights =
    typeof ways === 'string' ? undefined : inWhole.map((i) => ({ policy: ways.policy[i]!, kl: ways.kl[i]! }));
  return {
    record,
    update: { ...update, ...weightsIn(record, recorded, weights) },
    members,
    lack: lack ?? (typeof ways === 'string' && !recorded.weights ? ways : undefined),
    entropyWeights:
      typeof entropyWeights === 'string' ? entropyWeights : inWhole.flatMap((i) => entropyWeights[i] ?? []),
    slopes: (row) =>
      typeof rows === 'string' || !weights
        ? undefined
        : rowSlopesOf(record.declared ?? {}, rows[row]!, weights[row]!),
  };
}

const updateSlopes = once((record: StepRecord) => once((update: UpdateRecord) => slopesOf(record, update)));

/** As recorded, or from the counts of the whole update: weights that follow from some completions are of these alone. */
function weightsIn(
  record: StepRecord,
  recorded: UpdateRecord,
  weights: readonly { policy: number; kl: number }[] | undefined,
): Pick<UpdateRecord, 'weights' | 'klWeights'> {
  if (recorded.weights)
    return { weights: recorded.weights, klWeights: recorded.klWeights ?? recorded.weights };
  if (!weights) return {};
  const masks = scoredRows(record, recorded, 'mask');
  const lengths = record.scored?.lengths ?? record.completions!.lengths!;
  const members = membersOf(record, recorded);
  const perToken = (weight: (row: number) => number) =>
    joinRows(
      Float32Array,
      members.map((b, row) => {
        const mask = masks?.[row];
        const own = weight(row);
        return Float32Array.from({ length: lengths[b]! }, (_, t) => (mask?.[t] === 0 ? 0 : own));
      }),
    );
  return {
    weights: perToken((row) => weights[row]!.policy),
    klWeights: perToken((row) => weights[row]!.kl),
  };
}
