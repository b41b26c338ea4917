import { packageVersion } from '../config/version.js';
import { isObject, recordable } from '../formats/json.js';
import { joinRows } from '../maths/lists.js';
import { partColumns, type RewardTable } from '../rewards/index.js';
import type { Batch } from '../step/batch.js';
import type { Trainer } from '../step/trainer.js';
import { declaredOf } from '../trace/declared-of.js';
import {
  type AuditRecord,
  offsetsOf,
  type Probes,
  RECORD_VERSION,
  type ServerRecord,
  type StepRecord,
  supportRecordOf,
  type UpdateRecord,
} from '../trace/index.js';
import type { CanaryProbe } from './canaries.js';
import { diffusionRecordOf } from './diffusion-record.js';
import { renderedRecord } from './rendered-record.js';
import type { RecordedStep } from './step-recorder.js';
import { tokenPieces } from './token-pieces.js';
import type { ScoredIds } from './update-trace.js';

/**
 * The record of a step, from what it computed.
 *
 * @param measured - of the rewards before it, and of its hand-overs
 */
export function stepRecordOf(
  trainer: Trainer,
  recorded: RecordedStep,
  step: number,
  {
    canaries,
    audit,
    drift,
  }: {
    canaries?: CanaryProbe | undefined;
    audit?: AuditRecord | undefined;
    drift?: Probes['drift'] | undefined;
  } = {},
): StepRecord {
  const { config, model, sampling, ownStages } = trainer;
  const { batch, scored, updates } = recorded;
  const diffusion = diffusionRecordOf(trainer, recorded, step);
  const { completions_B, prompts, problems, rewardTable, compared, advantages } = batch;
  const lengths = Int32Array.from(completions_B, ({ ids }) => ids.length);
  const support = supportRecordOf(
    completions_B.map((one) => one.support),
    lengths,
  );
  const own = completions_B.map((_, b) => scored.get(b) ?? { prompt: [], completion: [] });
  const scoredPrompts = prompts.map((_, p) => own[p * batch.groupSize]!.prompt);
  // Dropped groups are not scored.
  const isScored = (_: Float32Array, b: number) => scored.has(b);
  const scoredLengths = Int32Array.from(own, ({ completion }) => completion.length);
  const rendered = renderedRecord(model, problems, prompts);
  const answers = problems.map(({ row }) => answerOf(row, config.task.answerKey));
  return {
    ...headOf(trainer, step),
    declared: {
      ...declaredOf(config),
      ...(diffusion && { diffusion: config.diffusion }),
      ...(sampling.stop.length > 0 && { stop: [...sampling.stop] }),
      ...(ownStages && { ownStages: [...ownStages] }),
      ...(!ownStages?.includes('sample') && { textChanges: [] }),
    },
    tokenizer: { ...rendered.tokenizer, pieces: tokenPieces(model.tokenizer, idsIn(batch, own)) },
    prompts: {
      ...rendered.prompts,
      rows: problems.map(({ row }) => recordable(row)),
      ...(answers.some((answer) => answer !== null) && { answers }),
      ...replayedOf(batch),
      scoredIds: joinRows(Int32Array, scoredPrompts),
      scoredLengths: Int32Array.from(scoredPrompts, (ids) => ids.length),
    },
    completions: {
      prompt: Int32Array.from(completions_B, (_, b) => batch.problemOf(b)),
      texts: completions_B.map(({ text }) => text),
      sampledTexts: completions_B.map(({ ids }) => model.tokenizer.decodeCompletion(ids, model)),
      finish: completions_B.map(({ finishReason }) => finishReason),
      ids: joinRows(
        Int32Array,
        completions_B.map(({ ids }) => ids),
      ),
      lengths,
      source: new Uint8Array(lengths.reduce((a, b) => a + b, 0)),
      samplerLogprobs: joinRows(
        Float32Array,
        completions_B.map(({ logprobs }) => logprobs),
      ),
      sampledLogprobs: joinRows(
        Float32Array,
        completions_B.map(({ sampledLogprobs }) => sampledLogprobs),
      ),
      ...(support && { support }),
      ...servedBy(completions_B, trainer.servers?.records),
    },
    scored: {
      ids: joinRows(
        Int32Array,
        own.map(({ completion }) => completion),
      ),
      lengths: scoredLengths,
      mask: maskOf(scoredLengths, updates, batch.masks_B),
      ...(batch.old_B && { oldLogprobs: joinRows(Float32Array, batch.old_B.filter(isScored)) }),
      ...(batch.reference_B && {
        referenceLogprobs: joinRows(Float32Array, batch.reference_B.filter(isScored)),
      }),
    },
    rewards: {
      names: [...compared.names],
      weights: [...compared.weights],
      values: joinRows(Float64Array, compared.columns),
      totals: compared.totals,
      ...groundsIn(rewardTable, compared.names.length),
      inputType: 'text',
      ...rewardTable.facts,
      failures: rewardTable.failures.map(({ reward, index, reason }) => ({
        reward,
        completion: index,
        reason,
      })),
    },
    advantages: advantages.advantages,
    ...(diffusion && { diffusion }),
    updates,
    ...((recorded.probes || canaries || drift) && {
      probes: {
        ...recorded.probes,
        ...(canaries && { canaries: canaries.canaries }),
        ...(drift && { drift }),
      },
    }),
    ...(audit && { audit }),
    stages: Object.entries(recorded.seconds).map(([name, seconds]) => ({ name, seconds })),
  };
}

/** Every list of ids that the record has, as sampled and as scored. */
function* idsIn(
  { prompts, completions_B }: Batch,
  scored: readonly ScoredIds[],
): Iterable<ArrayLike<number>> {
  for (const { ids } of prompts) yield ids;
  for (const { ids, region } of completions_B) {
    yield ids;
    if (region) yield region.ids;
  }
  for (const { prompt, completion } of scored) {
    yield prompt;
    yield completion;
  }
}

/** Parts and rules; a penalty that was added to the rewards has none. */
function groundsIn(
  table: RewardTable,
  rewards: number,
): Pick<NonNullable<StepRecord['rewards']>, 'parts' | 'rules'> {
  const { grounds } = table;
  if (!grounds) return {};
  const parts = partColumns(table);
  const none = Array.from(table.unscored, () => null);
  return {
    ...(parts.length > 0 && { parts }),
    ...(grounds.some((column) => column.some((own) => own?.rule !== undefined)) && {
      rules: Array.from({ length: rewards }, (_, k) => grounds[k]?.map((own) => own?.rule ?? null) ?? none),
    }),
  };
}

/** Which groups were not sampled in this step. */
function replayedOf({ prompts, exchange }: Batch): { replayed?: Int32Array } {
  const replayed = exchange?.replayed;
  if (!replayed || replayed.size === 0) return {};
  return { replayed: Int32Array.from(prompts, (_, p) => (replayed.get(p)?.step ?? -1) + 1) };
}

/** The head of a record, with the servers that sample: all that there is of a step that was not sampled. */
export const headOf = (
  { config, servers }: Pick<Trainer, 'config' | 'servers'>,
  step: number,
): StepRecord => ({
  format: 'grpo-step',
  version: RECORD_VERSION,
  step,
  producer: { name: 'grpo', version: packageVersion() },
  seed: config.seed,
  ...(servers && { servers: [...servers.records] }),
});

/** Which server sampled each completion, and with which weights; nothing where one is of a server that the run has no more. */
function servedBy(
  completions_B: Batch['completions_B'],
  servers: readonly ServerRecord[] = [],
): Pick<NonNullable<StepRecord['completions']>, 'server' | 'weightVersions'> {
  const names = servers.map(({ name }) => name);
  const sources = completions_B.flatMap(({ source }) => source ?? []);
  const server = Int32Array.from(sources, (source) => names.indexOf(source.server));
  if (server.length < completions_B.length || server.includes(-1)) return {};
  return {
    server,
    weightVersions: sources.map(({ weightVersion }) => weightVersion),
  };
}

/** The answer that a row of data holds, as text. */
function answerOf(row: unknown, key: string): string | null {
  const answer: unknown = isObject(row) ? row[key] : undefined;
  return typeof answer === 'string' || typeof answer === 'number' ? String(answer) : null;
}

/** 1 where the loss gave a token a weight, or was to give one where it tells none; of updates without a mask of their own. */
function maskOf(
  lengths: Int32Array,
  updates: readonly UpdateRecord[],
  masks_B: readonly Uint8Array[],
): Uint8Array {
  const starts = offsetsOf(lengths);
  const mask = new Uint8Array(starts.at(-1)!);
  for (const [b, own] of masks_B.entries()) if (lengths[b]! > 0) mask.set(own, starts[b]!);
  for (const { completions, weights, mask: own } of updates) {
    if (own) continue;
    let at = 0;
    for (const b of completions ?? []) {
      for (let t = 0; t < lengths[b]!; t++)
        mask[starts[b]! + t] = (weights?.[at + t] ?? masks_B[b]![t]) === 0 ? 0 : 1;
      at += lengths[b]!;
    }
  }
  return mask;
}
