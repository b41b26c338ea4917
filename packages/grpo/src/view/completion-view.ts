/** One completion of a step: everything that the record has of it, as sums and means over its trained tokens. */

import { inputs, membersOf, scoredRows, updateRows } from '../doctor/inputs.js';
import { known } from '../formats/known.js';
import { mean, nonzero, sum } from '../maths/moments.js';
import type { StepRecord, UpdateRecord } from '../trace/index.js';

/** What is missing in the record is missing here. Sums and means are over the tokens of the mask. */
export interface CompletionView {
  /** Prompt and place in its group, both from 0: `2.5`. */
  name: string;
  /** Place in the step. */
  index: number;
  prompt: number;
  tokens?: number;
  /** Tokens that enter the loss. */
  trained?: number;
  finish?: string;
  /** As the rewards got it; and as it was sampled, where that is another. */
  text?: string;
  sampledText?: string;
  /** Value of each reward, by name. */
  rewards?: Readonly<Record<string, number>>;
  /** The rule that decided each reward, by name. */
  rules?: Readonly<Record<string, string>>;
  total?: number;
  advantage?: number;
  /** Σ log π, in nats, before the first update; the sampler's and the reference's. */
  logprob?: number;
  samplerLogprob?: number;
  referenceLogprob?: number;
  /** Mean over tokens, in nats. */
  entropy?: number;
  /** Mean of policy to old policy, and the share of tokens whose ratio the clipping cuts off. */
  ratio?: number;
  clipped?: number;
  /** What it adds to the loss of the update: Σ policy term × weight, and β Σ KL × weight. */
  policyLoss?: number;
  klLoss?: number;
  /** The estimators of KL(policy ‖ reference), means over tokens, in nats. */
  kl?: KlEstimates;
}

/** With d = log π_ref − log π: k1 = −d, k2 = d² / 2, k3 = exp(d) − d − 1 (Schulman, Approximating KL Divergence). */
export interface KlEstimates {
  k1: number;
  k2: number;
  k3: number;
}

/** The completions of a step, in their order, as its first update had them. */
export function completionViews(record: StepRecord): CompletionView[] {
  const [update] = record.updates ?? [];
  const promptOf = record.completions?.prompt;
  const sampled = record.completions?.sampledTexts;
  const count = countOf(record);
  const losses = update ? lossesOf(record, update) : new Map<number, LossNumbers>();
  const names = completionNames(promptOf ?? new Int32Array(count));
  return Array.from({ length: count }, (_, index) => {
    const prompt = promptOf?.[index] ?? 0;
    return {
      name: names[index]!,
      index,
      prompt,
      ...known({
        tokens: record.completions?.lengths?.[index],
        finish: record.completions?.finish?.[index],
        text: record.completions?.texts?.[index],
        sampledText: sampled?.[index] === record.completions?.texts?.[index] ? undefined : sampled?.[index],
        ...rewardsOf(record, index),
        total: record.rewards?.totals?.[index],
        advantage: record.advantages?.[index],
        ...scoresOf(record, index),
        ...losses.get(index),
      }),
    };
  });
}

/** Prompt and place in its group of each completion: `2.5`. */
export function completionNames(promptOf: ArrayLike<number>): string[] {
  const places = new Map<number, number>();
  return Array.from(promptOf, (prompt) => {
    const place = places.get(prompt) ?? 0;
    places.set(prompt, place + 1);
    return `${prompt}.${place}`;
  });
}

function countOf({ completions, rewards, advantages, scored }: StepRecord): number {
  const all = [completions?.prompt, completions?.lengths, completions?.texts, scored?.lengths];
  return all.find((values) => values)?.length ?? rewards?.totals?.length ?? advantages?.length ?? 0;
}

function rewardsOf(record: StepRecord, index: number): Pick<Partial<CompletionView>, 'rewards' | 'rules'> {
  const { names, values, rules } = record.rewards ?? {};
  if (!names) return {};
  const count = (values?.length ?? 0) / names.length;
  return {
    ...(values && {
      rewards: Object.fromEntries(names.map((name, k) => [name, values[k * count + index]!])),
    }),
    ...(rules && {
      rules: Object.fromEntries(
        names.flatMap((name, k) => (rules[k]?.[index] ? [[name, rules[k][index]]] : [])),
      ),
    }),
  };
}

function scoresOf(record: StepRecord, index: number): Partial<CompletionView> {
  const mask = inputs.masks.from(record)?.[index];
  const sampler = inputs.behaviorLogprobs.from(record)?.[index];
  const reference = inputs.referenceLogprobs.from(record)?.[index];
  return {
    ...(mask && { trained: nonzero(mask) }),
    ...(sampler && { samplerLogprob: sum(sampler) }),
    ...(reference && { referenceLogprob: sum(trainedOf(reference, mask)) }),
  };
}

/** Whether a ratio is cut off by the declared clip. */
export function isBeyondClip({ declared }: Pick<StepRecord, 'declared'>, ratio: number): boolean {
  const { clipLow = Infinity, clipHigh = Infinity } = declared?.objective ?? {};
  return ratio < 1 - clipLow || ratio > 1 + clipHigh;
}

type LossNumbers = Pick<
  Partial<CompletionView>,
  'logprob' | 'entropy' | 'ratio' | 'clipped' | 'policyLoss' | 'klLoss' | 'kl'
>;

/** By completion, those that the update trains on. */
function lossesOf(record: StepRecord, update: UpdateRecord): Map<number, LossNumbers> {
  const rows = (key: Parameters<typeof updateRows>[2]) => updateRows(record, update, key);
  const [logprobs, entropies, ratios] = [rows('policyLogprobs'), rows('entropies'), rows('ratios')];
  const [terms, kls, weights] = [rows('policyTerms'), rows('klTerms'), rows('weights')];
  const klWeights = rows('klWeights') ?? weights;
  const masks = scoredRows(record, update, 'mask');
  const references = scoredRows(record, update, 'referenceLogprobs');
  const { kl } = record.declared ?? {};
  const beta = update.beta ?? kl?.beta ?? 0;
  return new Map(
    membersOf(record, update).map((index, i) => {
      const trained = (values: Float32Array | undefined) => values && trainedOf(values, masks?.[i]);
      const [own, reference] = [trained(logprobs?.[i]), trained(references?.[i])];
      const ratio = trained(ratios?.[i]);
      const numbers: LossNumbers = {
        ...(own && { logprob: sum(own) }),
        ...(entropies && { entropy: mean(trained(entropies[i])!) }),
        ...(ratio && {
          ratio: mean(ratio),
          clipped: mean(ratio.map((r) => Number(isBeyondClip(record, r)))),
        }),
        ...(terms && weights && { policyLoss: dot(terms[i]!, weights[i]!) }),
        ...(kls && klWeights && { klLoss: beta * dot(kls[i]!, klWeights[i]!) }),
        ...(own && reference && own.length > 0 && { kl: klOf(own, reference) }),
      };
      return [index, numbers];
    }),
  );
}

/** Values of the tokens that enter the loss. */
function trainedOf(values: Float32Array, mask: Uint8Array | undefined): Float64Array {
  if (!mask) return new Float64Array(values);
  const trained = new Float64Array(nonzero(mask));
  let count = 0;
  for (let t = 0; t < values.length; t++) if (mask[t] !== 0) trained[count++] = values[t]!;
  return trained;
}

function dot(a: Float32Array, b: Float32Array): number {
  let total = 0;
  // NaN × 0 is NaN: a masked token may have no term.
  for (let t = 0; t < a.length; t++) if (b[t] !== 0) total += a[t]! * b[t]!;
  return total;
}

function klOf(policy: Float64Array, reference: Float64Array): KlEstimates {
  const d = policy.map((logprob, t) => reference[t]! - logprob);
  return {
    k1: -mean(d),
    k2: mean(d.map((x) => x ** 2 / 2)),
    k3: mean(d.map((x) => Math.expm1(x) - x)),
  };
}
