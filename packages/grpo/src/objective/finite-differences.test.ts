import { describe, expect, it } from 'vitest';
import { AGGREGATIONS, KL_ESTIMATORS, KL_LEVELS, POLICY_TERMS, RATIO_LEVELS } from '../config/choices.js';
import { uniform } from '../maths/random.js';
import {
  type Batch,
  CORRECTIONS,
  KEYS,
  lossAndGradients,
  madeUpBatch,
  PLAIN,
  type Point,
} from './batch.test.helper.js';
import { plainLoss } from './plain-loss.test.helper.js';
import type { LossSettings } from './settings.js';

/** The choices beside the five, drawn: of 3,600 combinations each meets each of the others. */
function drawn(seed: number): {
  options: Partial<LossSettings>;
  kl: { clip?: number; biasCorrected: boolean };
} {
  const one = <T>(key: number, values: readonly T[]) =>
    values[Math.floor(uniform(seed, key) * values.length)]!;
  return {
    options: {
      correction: one(1, CORRECTIONS),
      delta: one(2, [undefined, undefined, 1.35]),
      entropy: { ...PLAIN.entropy, topShare: one(3, [1, 1, 0.6]) },
      offPolicyThreshold: one(4, [undefined, 0.02]),
    },
    kl: { clip: one(5, [undefined, 0.5]), biasCorrected: one(6, [false, true]) },
  };
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** Differences of log-probs, of tokens and completions, stay 2e-3 off the places where a loss has a kink: ratios 1e-3. */
function isClear({ logprobs, old, reference, lengths, mask }: Batch): boolean {
  const { clipLow, clipHigh, cap } = PLAIN;
  const ratioKinks = [1 - clipLow, 1 + clipHigh, 1.35, cap].map(Math.log).concat(-clipLow, clipHigh);
  const klKinks = [0, -0.5, 0.5];
  let start = 0;
  const all = lengths.flatMap((length) => {
    const tokens = Array.from({ length }, (_, t) => start + t).filter((t) => !mask || mask[t] === 1);
    start += length;
    if (tokens.length === 0) return [];
    const gaps = tokens.map((t) => logprobs[t]! - (old ?? logprobs)[t]!);
    const ds = tokens.map((t) => reference[t]! - logprobs[t]!);
    return [
      ...[...gaps, sum(gaps) / gaps.length].flatMap((x) => ratioKinks.map((kink) => x - kink)),
      ...[...ds, sum(ds), sum(ds) / ds.length].flatMap((x) => klKinks.map((kink) => x - kink)),
    ];
  });
  return !all.some((distance) => Math.abs(distance) < 2e-3);
}

const batches = Array.from({ length: 300 }, (_, seed): Batch => {
  const batch = madeUpBatch(seed, { masked: uniform(seed, 20) < 0.7 });
  return {
    ...batch,
    ...(uniform(seed, 21) < 0.2 && { old: null }),
    ...(uniform(seed, 22) < 0.5 && { betas: batch.betas.map(() => 0.3) }),
  };
}).filter(isClear);

const STEP = 1e-5;

/** Slope of the loss in each of its inputs; terms behind a stopped gradient stay as in the batch. */
function slopes(batch: Batch, settings: LossSettings, entropyCoefficient: number): Point {
  const of = (key: keyof Point) =>
    batch[key].map((value, t) => {
      const lossAt = (x: number) =>
        plainLoss(batch, settings, entropyCoefficient, { ...batch, [key]: batch[key].with(t, x) }, batch);
      return (lossAt(value + STEP) - lossAt(value - STEP)) / (2 * STEP);
    });
  return { logprobs: of('logprobs'), entropies: of('entropies'), fullKl: of('fullKl') };
}

/** Largest |a − b| / |b|; the divisor is at least 1e-4, and a thousandth of the largest |b|. */
function relativeError(a: readonly number[], b: readonly number[]): number {
  const least = Math.max(1e-4, ...b.map((x) => 1e-3 * Math.abs(x)));
  return Math.max(...a.map((x, i) => Math.abs(x - b[i]!) / Math.max(Math.abs(b[i]!), least)));
}

const pairs = POLICY_TERMS.flatMap((policy) => RATIO_LEVELS.map((ratio) => [policy, ratio] as const));

describe.each(pairs)('the gradient of %s, ratio %s', (policy, ratio) => {
  it('is the slope of the loss, with every aggregation and KL', () => {
    let seed = 1000 * (1 + pairs.findIndex(([p, r]) => p === policy && r === ratio));
    for (const aggregation of AGGREGATIONS) {
      for (const estimator of KL_ESTIMATORS) {
        for (const level of KL_LEVELS) {
          for (const entropyCoefficient of [0, 0.4]) {
            seed++;
            const { options, kl } = drawn(seed);
            const settings = {
              ...PLAIN,
              policy,
              ratio,
              aggregation,
              ...options,
              kl: { ...PLAIN.kl, ...kl, estimator, level },
            };
            const batch = batches[seed % batches.length]!;
            const where = JSON.stringify({ seed, entropyCoefficient, settings });
            const { loss, gradients } = lossAndGradients(batch, settings, { entropyCoefficient });
            expect(loss, where).toBeCloseTo(plainLoss(batch, settings, entropyCoefficient, batch), 12);
            const expected = slopes(batch, settings, entropyCoefficient);
            for (const key of KEYS) {
              const error = relativeError(gradients[key], expected[key]);
              expect(error, `${key} ${where}`).toBeLessThan(1e-6);
            }
          }
        }
      }
    }
  });
});
