/** Made-up micro-batches in plain numbers, with their losses. */
import { type DType, grad, type Tensor, tidy } from '@grpo/torch';
import { derive } from '../config/derive.js';
import { configSchema } from '../config/schema.js';
import { tensor } from '../device.test.helper.js';
import { permutation, uniform } from '../maths/random.js';
import { composedLoss } from './loss.js';
import type { LossSettings } from './settings.js';

/** Inputs that a loss has gradients with respect to: `[T]` each. */
export interface Point {
  logprobs: number[];
  entropies: number[];
  fullKl: number[];
}

export const KEYS = ['logprobs', 'entropies', 'fullKl'] as const satisfies (keyof Point)[];

export interface Batch extends Point {
  /** null: the ratio is 1. */
  old: number[] | null;
  reference: number[];
  sampler: number[];
  advantages: number[];
  betas: number[];
  lengths: number[];
  mask: Uint8Array | null;
  /** Size of the whole update; that of the batch alone when not given. */
  update?: { completions: number; tokens: number };
}

const { config } = derive(configSchema.parse({}), 'train', new Date());
const { objective, kl, entropy, correction } = config;

/** Everything off that can be off. */
export const PLAIN: LossSettings = {
  ...objective,
  normalizer: 7,
  clipHigh: 0.28,
  cap: 1.3,
  divergenceLow: 0.03,
  divergenceHigh: 0.06,
  kl,
  entropy,
  correction,
};

const of = (given: Partial<LossSettings['correction']>): LossSettings['correction'] => ({
  ...correction,
  ...given,
});

/** Corrections of every kind, with bounds that some of the made-up tokens are beyond. */
export const CORRECTIONS: readonly LossSettings['correction'][] = [
  correction,
  of({ level: 'token', max: 1.1 }),
  of({ level: 'token', action: 'mask', min: 0.85, max: 1.2 }),
  of({ level: 'sequence', min: 0.8, max: 1.2 }),
  of({ level: 'sequence', action: 'mask', min: 0.7, max: 1.4 }),
  of({ level: 'sequence_mean', min: 0.95, max: 1.1 }),
  of({ level: 'sequence_mean', action: 'reject', min: 0.9, max: 1.1 }),
  of({ level: 'sequence_max', action: 'mask', max: 1.2 }),
  of({ level: 'token', measure: 'probability', action: 'mask', max: 0.04 }),
  of({ level: 'sequence_max', measure: 'probability', action: 'reject', max: 0.07 }),
  of({ level: 'token', measure: 'k3', action: 'reject', max: 0.01 }),
  of({ level: 'sequence', measure: 'k3', action: 'mask', max: 0.04 }),
  of({ level: 'sequence_mean', measure: 'k3', action: 'reject', max: 0.015 }),
  of({ level: 'token', measure: 'binary_kl', action: 'mask', max: 0.004 }),
  of({ level: 'sequence_mean', measure: 'binary_kl', action: 'mask', max: 0.006 }),
];

/** Completions of unequal lengths, one of them empty, and policies that are some way apart. */
export function madeUpBatch(seed: number, { masked = true, lengths = [3, 1, 0, 4] } = {}): Batch {
  const size = lengths.reduce((a, b) => a + b, 0);
  const of = (key: number, count: number, from: number, to: number) =>
    Array.from({ length: count }, (_, i) => from + (to - from) * uniform(seed, key, i));
  const old = of(1, size, -3, -0.2);
  const near = (key: number, width: number) => of(key, size, -width, width).map((x, t) => old[t]! + x);
  return {
    logprobs: near(2, 0.6),
    entropies: of(3, size, 0.1, 2),
    fullKl: of(4, size, 0.01, 0.5),
    old,
    reference: near(5, 0.9),
    sampler: near(6, 0.3),
    advantages: of(7, lengths.length, -2, 2),
    betas: of(8, lengths.length, 0.05, 0.5),
    lengths,
    mask: masked ? Uint8Array.from(of(9, size, 0, 1), (x) => Number(x < 0.75)) : null,
  };
}

/** The completions at some places of a batch, as a micro-batch of its update. */
export function partOf(batch: Batch, places: readonly number[]): Batch {
  const ends = batch.lengths.map((_, b) => batch.lengths.slice(0, b + 1).reduce((a, c) => a + c, 0));
  const tokens = places.flatMap((b) =>
    Array.from({ length: batch.lengths[b]! }, (_, t) => ends[b]! - batch.lengths[b]! + t),
  );
  const ofTokens = (values: number[]) => tokens.map((t) => values[t]!);
  const ofCompletions = (values: number[]) => places.map((b) => values[b]!);
  return {
    logprobs: ofTokens(batch.logprobs),
    entropies: ofTokens(batch.entropies),
    fullKl: ofTokens(batch.fullKl),
    old: batch.old && ofTokens(batch.old),
    reference: ofTokens(batch.reference),
    sampler: ofTokens(batch.sampler),
    advantages: ofCompletions(batch.advantages),
    betas: ofCompletions(batch.betas),
    lengths: ofCompletions(batch.lengths),
    mask: batch.mask && Uint8Array.from(tokens, (t) => batch.mask![t]!),
    update: updateOf(batch),
  };
}

/** The places of a batch's completions, in random order and in lots of random size. */
export function randomSplit(count: number, seed: number): number[][] {
  const lots: number[][] = [];
  for (const [i, place] of permutation(count, seed, 1).entries()) {
    if (i === 0 || uniform(seed, 2, i) < 0.4) lots.push([]);
    lots.at(-1)!.push(place);
  }
  return lots;
}

/** Completions and trained tokens of the update that a batch belongs to. */
export function updateOf({ update, lengths, mask, logprobs }: Batch) {
  const tokens = mask ? mask.reduce((a, b) => a + b, 0) : logprobs.length;
  return update ?? { completions: lengths.length, tokens };
}

/** Loss and gradients: of log-probs, entropies and full KLs. */
export function lossAndGradients(
  batch: Batch,
  settings: LossSettings,
  { entropyCoefficient = 0, dtype = 'float64' as DType } = {},
): { loss: number; gradients: Point } {
  return tidy(() => {
    const wide = (values: number[]) => tensor(values, undefined, { dtype });
    const leaf = (values: number[]): Tensor => {
      const made = wide(values);
      made.requiresGrad = true;
      return made;
    };
    const [logprobs_T, entropies_T, fullKl_T] = [
      leaf(batch.logprobs),
      leaf(batch.entropies),
      leaf(batch.fullKl),
    ];
    const { loss } = composedLoss({
      logprobs_T,
      entropies_T,
      fullKl_T,
      oldLogprobs_T: batch.old && wide(batch.old),
      referenceLogprobs_T: wide(batch.reference),
      samplerLogprobs_T: wide(batch.sampler),
      advantages: batch.advantages,
      betas: batch.betas,
      lengths: batch.lengths,
      mask: batch.mask,
      update: updateOf(batch),
      entropyCoefficient,
      settings,
    });
    const gradients = grad([loss], [logprobs_T, entropies_T, fullKl_T]).map(
      (gradient) => gradient?.toNumbers() ?? batch.logprobs.map(() => 0),
    );
    const [logprobs, entropies, fullKl] = gradients as [number[], number[], number[]];
    return { loss: loss.item(), gradients: { logprobs, entropies, fullKl } };
  });
}
