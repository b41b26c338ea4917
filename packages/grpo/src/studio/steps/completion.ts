import { inputs, membersOf, scoredRows, supportSizesOf, updateRows } from '../../doctor/inputs.js';
import { UserError } from '../../errors/user-error.js';
import { known } from '../../formats/known.js';
import type { StepRecord } from '../../trace/index.js';
import { completionNames } from '../../view/completion-view.js';
import { betaOf } from '../../view/loss-rows.js';
import { pieceOf } from '../../view/pieces.js';
import type { OpenRuns } from '../open-runs.js';
import type { CompletionAnswer, Requests, TokenColumns } from '../requests.js';
import { clipStates } from './clip-states.js';
import { gapsOf } from './gaps.js';
import { settingsOf, sharesOf, wholeShares } from './loss-shares.js';
import { headOf } from './step-records.js';
import { type CompletionsRecord, completionsOf, type TrainedRows, trainedRows } from './trained-rows.js';

/** A completion as tokens, each with the numbers of one update; of the first that trains on it when none is named. */
export async function completion(
  runs: OpenRuns,
  input: Requests['completion']['input'],
): Promise<CompletionAnswer> {
  const { index } = input;
  await requireCompletion(runs, input);
  const own = await completionsOf(runs, input, [index]);
  const { head, record } = own;
  const place = own.chosen ? 0 : index;
  const promptOf = head.completions?.prompt;
  const prompt = promptOf?.[index] ?? 0;
  const names = completionNames(promptOf ?? new Int32Array(index + 1));
  const updates = head.updates ?? [];
  const first = updates.findIndex((update) => membersOf(head, update).includes(index));
  const update = input.update ?? Math.max(0, first);
  const columns = columnsOf(own, index, update);
  const count = Math.max(0, ...Object.values(columns).map(({ length }) => length));
  const ownPrompt = record.completions?.prompt?.[place] ?? 0;
  const promptIds = (inputs.promptIds.from(record) ?? inputs.scoredPromptIds.from(record))?.[ownPrompt];
  return {
    step: head.step,
    name: names[index]!,
    prompt,
    updates: updates.length,
    update,
    columns,
    count,
    group: names.flatMap((name, b) => ((promptOf?.[b] ?? 0) === prompt ? [{ index: b, name }] : [])),
    settings: settingsOf(head, updates[update]),
    pieces: piecesOf(head, [promptIds, columns.ids]),
    ...known({
      promptIds,
      promptSpans: record.prompts?.spans?.[ownPrompt],
      advantage: record.advantages?.[place],
      promptText: record.prompts?.texts?.[ownPrompt],
      text: record.completions?.texts?.[place],
      finish: record.completions?.finish?.[place],
      total: record.rewards?.totals?.[place],
    }),
  } as CompletionAnswer;
}

/** @throws UserError for a completion that is not there */
async function requireCompletion(runs: OpenRuns, at: Requests['completion']['input']): Promise<void> {
  const { completions } = (await headOf(runs, at)).record;
  const { prompt, lengths, texts } = completions ?? {};
  const count = (prompt ?? lengths ?? texts ?? []).length;
  if (Number.isInteger(at.index) && at.index >= 0 && at.index < count) return;
  throw new UserError(`step ${at.step} has no completion ${at.index}`, {
    hint: `It has ${count}, counted from 0.`,
  });
}

function piecesOf(head: StepRecord, lists: readonly (Int32Array | undefined)[]): CompletionAnswer['pieces'] {
  const ids = new Set(lists.flatMap((list) => [...(list ?? [])]));
  return new Map(
    [...ids].flatMap((id) => {
      const piece = pieceOf(head, id);
      return piece ? [[id, piece] as const] : [];
    }),
  );
}

function columnsOf(own: CompletionsRecord, index: number, u: number): TokenColumns {
  const { record } = own;
  const place = own.chosen ? 0 : index;
  const trained = trainedRows(own, u);
  const row = trained?.members.indexOf(index) ?? -1;
  const ids = inputs.scoredIds.from(record)?.[place];
  const sampledIds = inputs.ids.from(record)?.[place];
  // A group that was not trained on was not scored.
  const shown = ids && ids.length > 0 ? ids : sampledIds;
  return known({
    ids: shown,
    source: inputs.sources.from(record)?.[place],
    mask: inputs.masks.from(record)?.[place],
    support: supportSizesOf(record, place),
    sampler: inputs.behaviorLogprobs.from(record)?.[place],
    sampled: inputs.sampledLogprobs.from(record)?.[place],
    old: inputs.oldLogprobs.from(record)?.[place],
    reference: inputs.referenceLogprobs.from(record)?.[place],
    gap: gapsOf(record)[place],
    order: inputs.orders.from(record)?.[place]?.subarray(0, shown?.length),
    ...(trained && row >= 0 && trainedColumns(trained, row, record.advantages?.[place])),
  }) as TokenColumns;
}

function trainedColumns(
  { record, update, entropyWeights, slopes }: TrainedRows,
  row: number,
  advantage: number | undefined,
): { [C in keyof TokenColumns]: TokenColumns[C] | undefined } {
  const of = (key: Parameters<typeof updateRows>[2]) => updateRows(record, update, key)?.[row];
  const scored = (key: 'oldLogprobs' | 'referenceLogprobs') => scoredRows(record, update, key)?.[row];
  const ratio = of('ratios');
  const slope = slopes(row);
  return {
    mask: scoredRows(record, update, 'mask')?.[row],
    old: scored('oldLogprobs'),
    reference: scored('referenceLogprobs'),
    policy: of('policyLogprobs'),
    entropy: of('entropies'),
    ratio,
    clip: ratio && advantage !== undefined ? clipStates(record.declared ?? {}, ratio, advantage) : undefined,
    policyTerm: of('policyTerms'),
    klTerm: of('klTerms'),
    weight: of('weights'),
    loss: wholeShares(sharesOf(record, update, entropyWeights)(row)),
    policySlope: slope?.policy,
    klSlope: betaOf(record, update) === 0 ? undefined : slope?.kl,
  };
}
