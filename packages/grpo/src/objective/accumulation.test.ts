/** Which choices give any split of a batch the gradient of the whole, and which do not. */
import { describe, expect, it } from 'vitest';
import { LOSS_NAMES, namedLosses } from '../config/loss-names.js';
import { uniform } from '../maths/random.js';
import {
  type Batch,
  KEYS,
  lossAndGradients,
  madeUpBatch,
  PLAIN,
  type Point,
  partOf,
  randomSplit,
} from './batch.test.helper.js';
import type { LossSettings } from './settings.js';

type Options = NonNullable<Parameters<typeof lossAndGradients>[2]>;

const LENGTHS = [3, 1, 0, 7, 2, 12, 1, 5];

const kls: (Partial<LossSettings['kl']> | null)[] = [
  null,
  { estimator: 'k3', level: 'token', biasCorrected: false },
  { estimator: 'k2', level: 'token', biasCorrected: true },
  { estimator: 'k3', level: 'sequence_mean', biasCorrected: false },
  { estimator: 'k1', level: 'sequence_sum', biasCorrected: false },
  { estimator: 'full', level: 'token', biasCorrected: false },
];

const corrections: LossSettings['correction'][] = [
  PLAIN.correction,
  { ...PLAIN.correction, level: 'token', max: 1.1 },
  { level: 'sequence', measure: 'ratio', action: 'mask', min: 0.5, max: 2 },
  { level: 'sequence_max', measure: 'k3', action: 'mask', max: 0.02 },
];

/** Loss and gradients of a batch as the sum over its micro-batches; the gradients by completion, as they were in the batch. */
function inParts(batch: Batch, split: readonly number[][], settings: LossSettings, options: Options) {
  const parts = split.map((places) => ({
    places,
    ...lossAndGradients(partOf(batch, places), settings, options),
  }));
  const loss = parts.reduce((sum, part) => sum + part.loss, 0);
  const rows: Record<keyof Point, number[][]> = { logprobs: [], entropies: [], fullKl: [] };
  for (const { places, gradients } of parts) {
    let start = 0;
    for (const place of places) {
      const end = start + batch.lengths[place]!;
      for (const key of KEYS) rows[key][place] = gradients[key].slice(start, end);
      start = end;
    }
  }
  return { loss, gradients: KEYS.flatMap((key) => rows[key].flat()) };
}

function inOne(batch: Batch, settings: LossSettings, options: Options) {
  const { loss, gradients } = lossAndGradients(batch, settings, options);
  return { loss, gradients: KEYS.flatMap((key) => gradients[key]) };
}

/** ‖a − b‖ / ‖b‖ */
function relativeError(a: readonly number[], b: readonly number[]): number {
  const size = Math.hypot(...b);
  return size === 0 ? Math.hypot(...a) : Math.hypot(...a.map((x, i) => x - b[i]!)) / size;
}

/** The relative error of the gradient over some split of a made-up batch. */
function splitError(settings: LossSettings, options: Options, hasKl: boolean, seed: number): number {
  const batch = madeUpBatch(seed, { masked: seed % 3 > 0, lengths: LENGTHS });
  if (!hasKl) batch.betas.fill(0);
  const whole = inOne(batch, settings, options);
  const split = seed % 2 ? LENGTHS.map((_, b) => [b]) : randomSplit(LENGTHS.length, seed);
  const { gradients, loss } = inParts(batch, split, settings, options);
  expect(loss).toBeCloseTo(whole.loss, options.dtype === 'float32' ? 5 : 12);
  return relativeError(gradients, whole.gradients);
}

const bySplit = LOSS_NAMES.filter((name) => namedLosses[name].aggregation === 'micro_token_mean');
const byUpdate = LOSS_NAMES.filter((name) => !bySplit.includes(name));

describe('the gradient of a batch is the sum over any split of it', () => {
  it.each(byUpdate)('%s', (name) => {
    const { policy, ratio, aggregation } = namedLosses[name];
    const limits = { float32: 1e-5, float64: 1e-12 };
    let seed = 100;
    for (const kl of kls) {
      for (const correction of corrections) {
        for (const entropyCoefficient of [0, 0.3]) {
          seed += 7;
          const offPolicyThreshold = uniform(seed) < 0.5 ? undefined : 0.02;
          const own = { policy, ratio, aggregation, correction, offPolicyThreshold };
          const settings = { ...PLAIN, ...own, kl: { ...PLAIN.kl, ...kl } };
          for (const dtype of ['float32', 'float64'] as const) {
            const error = splitError(settings, { entropyCoefficient, dtype }, kl !== null, seed);
            expect(error, JSON.stringify({ dtype, entropyCoefficient, settings })).toBeLessThan(
              limits[dtype],
            );
          }
        }
      }
    }
  });
});

describe('what is defined by the split changes with it', () => {
  const differs = (settings: LossSettings, options: Options = {}) => {
    const batch = madeUpBatch(5, { lengths: LENGTHS });
    const whole = inOne(batch, settings, options);
    const { gradients } = inParts(batch, [[0, 1, 2], [3, 4], [5], [6, 7]], settings, options);
    return relativeError(gradients, whole.gradients);
  };
  const ofName = (name: keyof typeof namedLosses): LossSettings => {
    const { policy, ratio, aggregation } = namedLosses[name];
    return { ...PLAIN, policy, ratio, aggregation };
  };

  it.each(bySplit)('%s: the token mean of a micro-batch', (name) => {
    expect(differs(ofName(name))).toBeGreaterThan(0.1);
  });

  it.each(byUpdate)('%s with the tokens of highest entropy: the quantile of a micro-batch', (name) => {
    expect(differs({ ...ofName(name), entropy: { ...PLAIN.entropy, topShare: 0.5 } })).toBeGreaterThan(0.01);
  });

  it.each(['trl', 'trl-1.10'] as const)('an entropy bonus as of %s: the mean of a micro-batch', (compat) => {
    expect(differs({ ...ofName('dapo'), compat })).toBeLessThan(1e-12);
    expect(differs({ ...ofName('dapo'), compat }, { entropyCoefficient: 0.3 })).toBeGreaterThan(0.01);
  });

  it('luspo as of trl-1.10: the longest completion of a micro-batch', () => {
    const settings = ofName('luspo');
    expect(differs(settings)).toBeLessThan(1e-12);
    expect(differs({ ...settings, compat: 'trl-1.10' })).toBeGreaterThan(0.01);
  });
});
