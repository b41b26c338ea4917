import { type DType, grad, noGrad, type Tensor, tidy } from '@grpo/torch';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AGGREGATIONS, KL_ESTIMATORS, KL_LEVELS, POLICY_TERMS, RATIO_LEVELS } from '../config/choices.js';
import { tensor } from '../device.test.helper.js';
import { uniform } from '../maths/random.js';
import {
  type Batch,
  CORRECTIONS,
  KEYS,
  lossAndGradients,
  madeUpBatch,
  PLAIN,
  updateOf,
} from './batch.test.helper.js';
import { klOf } from './kl.js';
import { composedLoss } from './loss.js';
import type { LossSettings } from './settings.js';
import { TokenRows } from './token-rows.js';

const anySettings = fc
  .record({
    policy: fc.constantFrom(...POLICY_TERMS),
    ratio: fc.constantFrom(...RATIO_LEVELS),
    aggregation: fc.constantFrom(...AGGREGATIONS),
    delta: fc.constantFrom(undefined, 1.4),
    entropy: fc.constantFrom(1, 0.6).map((topShare) => ({ ...PLAIN.entropy, topShare })),
    offPolicyThreshold: fc.constantFrom(undefined, 0.02),
    correction: fc.constantFrom(...CORRECTIONS),
    kl: fc.record({
      estimator: fc.constantFrom(...KL_ESTIMATORS),
      level: fc.constantFrom(...KL_LEVELS),
      biasCorrected: fc.boolean(),
      clip: fc.constantFrom(undefined, 0.5),
    }),
  })
  .map((drawn): LossSettings => ({ ...PLAIN, ...drawn, kl: { ...PLAIN.kl, ...drawn.kl } }));

const wide = (values: readonly number[], dtype: DType = 'float64') => tensor(values, undefined, { dtype });

/** log π and entropy of the targets under softmax(logits): `[T, V]`. */
function scoresOf(logits_TV: Tensor, targets: readonly number[]) {
  const all_TV = logits_TV.logSoftmax(-1);
  const targets_T1 = tensor([...targets], [targets.length, 1], { dtype: 'int64' });
  return {
    logprobs_T: all_TV.gather(1, targets_T1).squeeze(1),
    entropies_T: all_TV.exp().mul(all_TV).sumDim([-1]).neg(),
  };
}

const VOCABULARY = 5;

/** A softmax for each token of a batch, and the tokens that were drawn. */
function madeUpPolicy({ logprobs }: Batch, seed: number) {
  const logits = Array.from({ length: logprobs.length * VOCABULARY }, (_, i) => 2 * uniform(seed, 30, i));
  const targets = logprobs.map((_, t) => Math.floor(VOCABULARY * uniform(seed, 31, t)));
  return { logits_TV: tensor(Float64Array.from(logits), [logprobs.length, VOCABULARY]), targets };
}

/** Σ A log π and the mean entropy of the trained tokens, before and after a small step down the slope of the loss. */
function afterStep(batch: Batch, settings: LossSettings, entropyCoefficient: number, seed: number) {
  return tidy(() => {
    const { logits_TV, targets } = madeUpPolicy(batch, seed);
    logits_TV.requiresGrad = true;
    const scores = scoresOf(logits_TV, targets);
    const at = scores.logprobs_T.detach().toNumbers();
    // The old policy is as far away as it is in the batch.
    const from = (values: readonly number[]) => wide(values.map((x, t) => at[t]! + x - batch.logprobs[t]!));
    const { loss } = composedLoss({
      ...scores,
      fullKl_T: null,
      oldLogprobs_T: batch.old && from(batch.old),
      referenceLogprobs_T: null,
      samplerLogprobs_T: from(batch.sampler),
      advantages: batch.advantages,
      betas: batch.betas.map(() => 0),
      lengths: batch.lengths,
      mask: batch.mask,
      update: updateOf(batch),
      entropyCoefficient,
      settings,
    });
    const [gradient_TV] = grad([loss], [logits_TV]);
    const size = Math.max(...gradient_TV!.toNumbers().map(Math.abs));
    return noGrad(() => {
      const rows = new TokenRows(batch.lengths, batch.mask, logits_TV);
      const measure = (logits: Tensor) => {
        const { logprobs_T, entropies_T } = scoresOf(logits, targets);
        const gain = rows.sum(logprobs_T).mul(rows.tensor(batch.advantages)).sum().item();
        return { gain, entropy: rows.sum(entropies_T).sum().item() };
      };
      const step = 1e-5 / Math.max(size, 1e-300);
      return { size, before: measure(logits_TV), after: measure(logits_TV.sub(gradient_TV!.mul(step))) };
    });
  });
}

describe('tokens that are not trained on', () => {
  // Values that a broken sampler or a padded row may hold.
  const anything = fc.constantFrom(0, -1e4, 1e4, 1e300, -1e300, Infinity, -Infinity, Number.NaN);

  it('change neither loss nor gradients, and get none', () => {
    fc.assert(
      fc.property(
        anySettings,
        fc.nat(1e6),
        fc.array(anything, { minLength: 4 }),
        (settings, seed, values) => {
          const batch = madeUpBatch(seed);
          const isTrained = (t: number) => batch.mask![t] === 1;
          const put = (column: readonly number[], key: number) =>
            column.map((x, t) => (isTrained(t) ? x : values[(3 * t + key) % values.length]!));
          const noisy: Batch = {
            ...batch,
            logprobs: put(batch.logprobs, 0),
            old: put(batch.old!, 1),
            reference: put(batch.reference, 2),
            sampler: put(batch.sampler, 3),
            entropies: put(batch.entropies, 4),
            fullKl: put(batch.fullKl, 5),
          };
          const plain = lossAndGradients(batch, settings, { entropyCoefficient: 0.2 });
          expect(lossAndGradients(noisy, settings, { entropyCoefficient: 0.2 })).toEqual(plain);
          for (const key of KEYS)
            expect(plain.gradients[key].every((x, t) => isTrained(t) || x === 0)).toBe(true);
        },
      ),
    );
  });

  it('may as well be left out', () => {
    fc.assert(
      fc.property(anySettings, fc.nat(1e6), (settings, seed) => {
        const batch = madeUpBatch(seed);
        const trained = (column: readonly number[]) => column.filter((_, t) => batch.mask![t] === 1);
        const without: Batch = {
          ...batch,
          logprobs: trained(batch.logprobs),
          old: trained(batch.old!),
          reference: trained(batch.reference),
          sampler: trained(batch.sampler),
          entropies: trained(batch.entropies),
          fullKl: trained(batch.fullKl),
          lengths: [...new TokenRows(batch.lengths, batch.mask, wide([])).counts],
          mask: null,
        };
        const { loss, gradients } = lossAndGradients(batch, settings, { entropyCoefficient: 0.2 });
        const other = lossAndGradients(without, settings, { entropyCoefficient: 0.2 });
        expect(other.loss).toBeCloseTo(loss, 12);
        for (const key of KEYS)
          expect(other.gradients[key]).toEqual(trained(gradients[key]).map((x) => expect.closeTo(x, 12)));
      }),
    );
  });
});

describe('a small step down the slope', () => {
  it.each(POLICY_TERMS.flatMap((policy) => RATIO_LEVELS.map((ratio) => [policy, ratio] as const)))(
    'of the policy term raises Σ A log p: %s, ratio %s',
    (policy, ratio) => {
      let moved = 0;
      fc.assert(
        fc.property(anySettings, fc.nat(1e6), (drawn, seed) => {
          const batch = madeUpBatch(seed, { masked: seed % 2 === 0 });
          const { size, before, after } = afterStep(batch, { ...drawn, policy, ratio }, 0, seed);
          // All tokens clipped, or masked.
          if (size < 1e-9) return;
          moved++;
          expect(after.gain).toBeGreaterThan(before.gain);
        }),
        { numRuns: 50 },
      );
      expect(moved).toBeGreaterThan(25);
    },
  );

  it('of the entropy bonus raises the entropy', () => {
    fc.assert(
      fc.property(
        anySettings,
        fc.nat(1e6),
        fc.double({ min: 0.001, max: 2, noNaN: true }),
        (settings, seed, coefficient) => {
          const batch = madeUpBatch(seed, { masked: seed % 2 === 0 });
          fc.pre(!batch.mask || batch.mask.includes(1));
          batch.advantages.fill(0);
          const { before, after } = afterStep(batch, settings, coefficient, seed);
          expect(after.entropy).toBeGreaterThan(before.entropy);
        },
      ),
    );
  });
});

describe('the KL', () => {
  const logprob = fc.double({ min: -30, max: 0, noNaN: true });
  const near = fc.oneof(logprob, fc.double({ min: -1e-6, max: 0, noNaN: true }));
  const ofPairs = (
    settings: Parameters<typeof klOf>[0],
    pairs: readonly (readonly [number, number])[],
    { full = null as number[] | null, dtype = 'float64' as DType } = {},
  ) =>
    tidy(() => {
      const logprobs_T = wide(
        pairs.map(([own]) => own),
        dtype,
      );
      const cut = Math.floor(pairs.length / 3);
      return klOf(settings, {
        logprobs_T,
        referenceLogprobs_T: wide(
          pairs.map(([, other]) => other),
          dtype,
        ),
        full_T: full && wide(full),
        rows: new TokenRows([cut, pairs.length - cut], null, logprobs_T),
      }).toNumbers();
    });
  const pairs = fc.array(fc.tuple(near, near), { minLength: 1, maxLength: 9 });

  it.each(['k3', 'k2', 'abs'] as const)('%s is never negative', (estimator) => {
    fc.assert(
      fc.property(
        pairs,
        fc.constantFrom(...KL_LEVELS),
        fc.constantFrom(undefined, 0.5),
        fc.constantFrom<DType>('float32', 'float64'),
        (drawn, level, clip, dtype) => {
          const kl = ofPairs({ estimator, level, clip }, drawn, { dtype });
          expect(Math.min(...kl)).toBeGreaterThanOrEqual(0);
        },
      ),
      { numRuns: 500 },
    );
  });

  it.each(['k1', 'k2', 'k3', 'abs'] as const)('%s of equal policies is exactly 0', (estimator) => {
    fc.assert(
      fc.property(fc.array(logprob, { minLength: 1 }), fc.constantFrom(...KL_LEVELS), (own, level) => {
        const kl = ofPairs(
          { estimator, level },
          own.map((x) => [x, x]),
        );
        expect(kl.every((value) => value === 0)).toBe(true);
      }),
    );
  });

  it('over the vocabulary is the mean or the sum of its tokens where one a completion is asked for', () => {
    const full = [0.1, 0.2, 0.6, 1, 0, 0.25];
    const drawn = full.map(() => [-1, -2] as const);
    const at = (level: LossSettings['kl']['level']) => ofPairs({ estimator: 'full', level }, drawn, { full });
    expect(at('token')).toEqual(full);
    const spread = (first: number, second: number) =>
      [first, first, second, second, second, second].map((x) => expect.closeTo(x, 12));
    expect(at('sequence_mean')).toEqual(spread(0.15, 0.4625));
    expect(at('sequence_sum')).toEqual(spread(0.3, 1.85));
  });
});
