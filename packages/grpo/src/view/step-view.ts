/** A recorded step, phase by phase: numbers and texts that a terminal, a page or JSON shows. Nothing is computed by a model. */

import type { Check } from '../doctor/check.js';
import { examine } from '../doctor/examine.js';
import { inputs, keysOf, membersOf, scoredRows, updateRows } from '../doctor/inputs.js';
import { registry } from '../doctor/registry.js';
import { known } from '../formats/known.js';
import { countLeading } from '../maths/lists.js';
import { isFlat, largest, mean, moments, sum } from '../maths/moments.js';
import { Watch } from '../progress/watch.js';
import type { Declared, StepRecord, UpdateRecord } from '../trace/index.js';
import { type CompletionView, completionViews, isBeyondClip, type KlEstimates } from './completion-view.js';
import { type MaskedView, maskedView } from './masked-view.js';
import { type PhaseVerdict, verdictsOf } from './phases.js';

export interface StepView {
  step: number;
  producer: string;
  seed?: number;
  declared: Declared;
  prompts: readonly PromptView[];
  completions: readonly CompletionView[];
  sample: SampleView;
  /** Largest distance of a log-prob to itself, in nats, where that was measured: scored twice, and alone in its batch. */
  scoring: { twice?: number; alone?: number };
  /** Each reward with its weight and its mean over the step. */
  rewards: readonly { name: string; weight?: number; mean: number }[];
  loss?: LossView;
  /** Of a masked-diffusion model. */
  masked?: MaskedView;
  updates: readonly UpdateView[];
  /** Seconds of each stage. */
  stages: readonly { name: string; seconds: number }[];
  /** What the doctor says of each phase. */
  verdicts: readonly PhaseVerdict[];
}

/** A prompt and its group. */
export interface PromptView {
  index: number;
  text?: string;
  answer?: string;
  ids?: readonly number[];
  /** Tokens that begin a text, in the prompt and as expected. */
  bos?: number;
  expectedBos?: number;
  /** Whether it ends in what the template puts before an answer, where the record has that; `plain` without a template. */
  ending?: 'plain' | 'header' | 'other';
  /** Completions of it, and how many of them are different. */
  completions: number;
  distinct?: number;
  /** Of the group's rewards; the deviation as it is declared to be taken. */
  mean?: number;
  deviation?: number;
  advantages?: number;
  /** Whether its rewards differ: without that its advantages are 0. */
  signal?: boolean;
}

interface SampleView {
  shortest?: number;
  longest?: number;
  ended?: number;
  cut?: number;
  entropy?: number;
  /** Largest distance of the sampler's log-prob of a token to the policy's, in nats. */
  gap?: number;
}

interface LossView {
  loss?: number;
  components: readonly { name: string; coefficient: number; value: number }[];
  kl?: KlEstimates;
  /** The completions that make most of the loss, as shares of the sum of sizes. */
  largest: readonly { name: string; part: 'policy' | 'KL'; share: number }[];
  /** Tokens in the loss, of all. */
  trained?: number;
  tokens?: number;
}

/** An optimizer update. */
type UpdateView = Pick<
  UpdateRecord,
  'loss' | 'gradNorm' | 'gradNorms' | 'learningRate' | 'updateNorm' | 'changedShare' | 'changedWeightShare'
> & {
  /** What the gradient was multiplied by to keep the declared norm. */
  clippedBy?: number;
  /** Share of its trained tokens whose ratio is beyond the clip range. */
  beyondClip?: number;
};

/**
 * The phases of a recorded step, with the doctor's verdict of each.
 *
 * @param checks - of the doctor
 */
export function viewOf(
  record: StepRecord,
  checks: readonly Check[] = registry,
  watch = new Watch(),
): StepView {
  const { declared = {}, producer, seed, stages = [] } = record;
  const completions = completionViews(record);
  const diagnosis = examine({ records: [record], declared }, checks, watch);
  const loss = lossView(record, completions);
  const masked = maskedView(record);
  return {
    step: record.step,
    producer: producer.version ? `${producer.name} ${producer.version}` : producer.name,
    ...(seed !== undefined && { seed }),
    declared,
    prompts: promptViews(record, completions),
    completions,
    sample: sampleView(record, completions),
    scoring: known({
      twice: record.probes?.repeatedScoring?.max,
      alone: record.probes?.aloneInBatch?.max,
    }),
    rewards: rewardViews(record),
    ...(loss && { loss }),
    ...(masked && { masked }),
    updates: (record.updates ?? []).map((update) => updateView(record, update)),
    stages: stages.map(({ name, seconds }) => ({ name, seconds })),
    verdicts: verdictsOf(diagnosis, checks),
  };
}

function promptViews(record: StepRecord, completions: readonly CompletionView[]): PromptView[] {
  const { prompts, tokenizer, declared } = record;
  const ids = inputs.promptIds.from(record);
  const sampled = inputs.ids.from(record);
  const count =
    prompts?.texts?.length ?? ids?.length ?? new Set(completions.map(({ prompt }) => prompt)).size;
  return Array.from({ length: count }, (_, index) => {
    const group = completions.filter(({ prompt }) => prompt === index);
    const totals = group.flatMap(({ total }) => total ?? []);
    const { mean: centre, deviation } = moments(totals, declared?.advantage?.ddof ?? 1);
    // The mean of equal rewards is rounded, and would leave a deviation of 1e-17.
    const isEqual = Number.isFinite(deviation) && isFlat(totals);
    const [text, header, own] = [prompts?.texts?.[index], prompts?.assistantHeader, ids?.[index]];
    const advantages = group.flatMap(({ advantage }) => advantage ?? []);
    return {
      index,
      completions: group.length,
      ...known({
        text,
        answer: prompts?.answers?.[index] ?? undefined,
        ids: own && [...own],
        bos: own && tokenizer?.bosId !== undefined ? countLeading(own, tokenizer.bosId) : undefined,
        expectedBos: tokenizer?.expectedBos,
        ending: text === undefined || header === undefined ? undefined : endingOf(text, header),
        distinct: sampled && new Set(group.map((one) => keysOf(sampled)[one.index]!)).size,
        mean: totals.length > 0 ? centre : undefined,
        deviation: totals.length > 1 ? (isEqual ? 0 : deviation) : undefined,
        advantages: advantages.length > 0 ? sum(advantages) : undefined,
        signal: totals.length > 0 ? totals.some((total) => total !== totals[0]) : undefined,
      }),
    };
  });
}

function endingOf(text: string, header: string): NonNullable<PromptView['ending']> {
  if (header === '') return 'plain';
  return text.endsWith(header) ? 'header' : 'other';
}

function sampleView(record: StepRecord, completions: readonly CompletionView[]): SampleView {
  const lengths = completions.flatMap(({ tokens }) => tokens ?? []);
  const finishes = completions.flatMap(({ finish }) => finish ?? []);
  const entropies = record.updates?.[0]?.entropies;
  return known({
    shortest: lengths.length > 0 ? Math.min(...lengths) : undefined,
    longest: lengths.length > 0 ? Math.max(...lengths) : undefined,
    ended: finishes.length > 0 ? finishes.filter((finish) => finish === 'stop').length : undefined,
    cut: finishes.length > 0 ? finishes.filter((finish) => finish === 'length').length : undefined,
    entropy: entropies && entropies.length > 0 ? mean(entropies) : undefined,
    gap: gapOf(record),
  });
}

/** Of tokens that both scored, in the completions of the first update. */
function gapOf(record: StepRecord): number | undefined {
  const [update] = record.updates ?? [];
  const sampler = inputs.comparableLogprobs.from(record);
  const policy = inputs.firstPolicyLogprobs.from(record);
  if (!update || !sampler || !policy) return undefined;
  const gaps = membersOf(record, update).flatMap((index, i) => {
    const [one, other] = [sampler[index]!, policy[i]!];
    return one.length === other.length && one.length > 0
      ? largest(one.map((x, t) => Math.abs(x - other[t]!)))
      : [];
  });
  return gaps.length > 0 ? largest(gaps) : undefined;
}

function rewardViews({ rewards }: StepRecord): StepView['rewards'] {
  const { names = [], weights, values } = rewards ?? {};
  const count = (values?.length ?? 0) / names.length;
  return names.map((name, k) => ({
    name,
    ...(weights?.[k] !== undefined && { weight: weights[k] }),
    mean: values ? moments(values.subarray(k * count, (k + 1) * count), 0).mean : Number.NaN,
  }));
}

function lossView(record: StepRecord, completions: readonly CompletionView[]): LossView | undefined {
  const [update] = record.updates ?? [];
  if (!update) return undefined;
  const parts = completions.flatMap(({ name, policyLoss, klLoss }) => [
    ...(policyLoss === undefined ? [] : [{ name, part: 'policy' as const, value: policyLoss }]),
    ...(klLoss === undefined ? [] : [{ name, part: 'KL' as const, value: klLoss }]),
  ]);
  const shareOf = ({ part, value }: (typeof parts)[number]) =>
    Math.abs(value) / sum(parts.filter((one) => one.part === part).map((one) => Math.abs(one.value)));
  const largest = (['policy', 'KL'] as const).flatMap((part) => {
    const own = parts.filter((one) => one.part === part && one.value !== 0);
    return own
      .map((one) => ({ name: one.name, part, share: shareOf(one) }))
      .sort((a, b) => b.share - a.share)
      .slice(0, 1);
  });
  const estimates = completions.flatMap(({ kl, trained, tokens }) =>
    kl ? [{ ...kl, weight: trained ?? tokens ?? 1 }] : [],
  );
  const all = sum(estimates.map(({ weight }) => weight));
  const pooled = (key: keyof KlEstimates) => sum(estimates.map((one) => one[key] * one.weight)) / all;
  const mask = record.scored?.mask;
  return {
    components: update.components ?? [],
    largest,
    ...known({
      loss: update.loss,
      kl: all > 0 ? { k1: pooled('k1'), k2: pooled('k2'), k3: pooled('k3') } : undefined,
      trained: mask && sum(mask),
      tokens: mask?.length,
    }),
  };
}

function updateView(record: StepRecord, update: UpdateRecord): UpdateView {
  const { optimizer } = record.declared ?? {};
  const { loss, gradNorm, gradNorms, learningRate, updateNorm, changedShare, changedWeightShare } = update;
  const most = optimizer?.maxGradNorm;
  const clippedBy = gradNorm !== undefined && most ? Math.min(1, most / (gradNorm + 1e-6)) : undefined;
  return known({
    loss,
    gradNorm,
    gradNorms,
    learningRate,
    updateNorm,
    changedShare,
    changedWeightShare,
    clippedBy,
    beyondClip: beyondClip(record, update),
  });
}

function beyondClip(record: StepRecord, update: UpdateRecord): number | undefined {
  const ratios = updateRows(record, update, 'ratios');
  if (!ratios) return undefined;
  const masks = scoredRows(record, update, 'mask');
  let [trained, beyond] = [0, 0];
  for (const [i, own] of ratios.entries())
    for (const [t, ratio] of own.entries()) {
      if (masks?.[i]?.[t] === 0) continue;
      trained++;
      if (isBeyondClip(record, ratio)) beyond++;
    }
  return beyond / trained;
}
