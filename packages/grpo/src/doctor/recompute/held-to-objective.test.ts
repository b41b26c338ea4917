/** What the doctor recomputes in plain numbers is what `objective/` computes, whatever is declared. */

import { tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import {
  AGGREGATIONS,
  KL_ESTIMATORS,
  KL_LEVELS,
  POLICY_TERMS,
  RATIO_LEVELS,
  SCALES,
} from '../../config/choices.js';
import { uniform } from '../../maths/random.js';
import {
  type Batch,
  CORRECTIONS,
  madeUpBatch,
  PLAIN as PLAIN_LOSS,
  updateOf,
} from '../../objective/batch.test.helper.js';
import {
  type AdvantageSettings,
  advantagesOf,
  composedLoss,
  type LossSettings,
} from '../../objective/index.js';
import { declaredByBoth } from '../../trace/declared.js';
import type { Declared, StepRecord } from '../../trace/index.js';
import { RECORD_VERSION } from '../../trace/record.js';
import type { StepCheck } from '../check.js';
import { registry } from '../registry.js';
import { PLAIN, recompute } from './advantage.js';

const ESTIMATORS = KL_ESTIMATORS.filter((estimator) => estimator !== 'full');

interface Case {
  settings: LossSettings;
  beta: number;
  entropyCoefficient: number;
}

/** Choices that follow from the seed alone. */
function caseOf(seed: number): Case {
  let key = 100;
  const one = <T>(list: readonly T[]): T => list[Math.floor(uniform(seed, key++) * list.length)]!;
  const settings: LossSettings = {
    ...PLAIN_LOSS,
    policy: one(POLICY_TERMS),
    ratio: one(RATIO_LEVELS),
    aggregation: one(AGGREGATIONS),
    divergenceHigh: one([0.01, 0.06]),
    clipHigh: one([0.1, 0.28]),
    delta: one([undefined, 1.2, 2]),
    kl: {
      ...PLAIN_LOSS.kl,
      estimator: one(ESTIMATORS),
      level: one(KL_LEVELS),
      biasCorrected: one([false, true]),
      clip: one([undefined, 0.3]),
    },
    entropy: { ...PLAIN_LOSS.entropy, topShare: one([1, 1, 0.3, 0.6]) },
    offPolicyThreshold: one([undefined, undefined, 0.05]),
    correction: one(CORRECTIONS),
  };
  return { settings, beta: one([0.05, 0.3]), entropyCoefficient: one([0, 0.02]) };
}

function declaredOf({ settings, beta, entropyCoefficient }: Case): Declared {
  const { kl, entropy, correction, ...objective } = settings;
  return {
    dtype: 'float32',
    objective,
    kl: { ...kl, beta },
    entropy: { ...entropy, coefficient: entropyCoefficient },
    correction,
  };
}

/** The record of one update with two equal micro-batches. */
function recordOf(seed: number, { settings, beta, entropyCoefficient }: Case): StepRecord {
  const halves = [madeUpBatch(seed, { lengths: [3, 1, 5] }), madeUpBatch(seed + 1, { lengths: [4, 2] })];
  const sizes = halves.map(updateOf);
  const update = {
    completions: sizes[0]!.completions + sizes[1]!.completions,
    tokens: sizes[0]!.tokens + sizes[1]!.tokens,
  };
  const outputs = halves.map((batch) => computed(batch));
  const flat = (of: (batch: Batch) => Iterable<number>) =>
    Float32Array.from(halves.flatMap((batch) => [...of(batch)]));
  const terms = (name: 'ratio_T' | 'policy_T' | 'kl_T' | 'weights_T' | 'klWeights_T') =>
    Float32Array.from(outputs.flatMap((output) => output.terms[name] ?? output.terms.weights_T));
  const lengths = Int32Array.from(halves.flatMap((batch) => batch.lengths));
  const ids = new Int32Array(lengths.reduce((a, b) => a + b, 0));
  return {
    format: 'grpo-step',
    version: RECORD_VERSION,
    step: 3,
    producer: { name: 'test' },
    declared: declaredOf({ settings, beta, entropyCoefficient }),
    completions: { ids, lengths, samplerLogprobs: flat((batch) => batch.sampler) },
    scored: {
      ids,
      lengths,
      mask: Uint8Array.from(flat((batch) => batch.mask!)),
      oldLogprobs: flat((batch) => batch.old!),
      referenceLogprobs: flat((batch) => batch.reference),
    },
    advantages: Float64Array.from(halves.flatMap((batch) => batch.advantages)),
    updates: [
      {
        policyLogprobs: flat((batch) => batch.logprobs),
        entropies: flat((batch) => batch.entropies),
        ratios: terms('ratio_T'),
        policyTerms: terms('policy_T'),
        klTerms: terms('kl_T'),
        weights: terms('weights_T'),
        klWeights: terms('klWeights_T'),
        loss: outputs.reduce((sum, { loss }) => sum + loss, 0),
        microBatches: { executed: 2, configured: 2, sizes: sizes.map(({ completions }) => completions) },
      },
    ],
  };

  function computed(batch: Batch) {
    return tidy(() => {
      const of = (values: number[]) => tensor(values, undefined, { dtype: 'float64' });
      const { loss, terms } = composedLoss({
        logprobs_T: of(batch.logprobs),
        entropies_T: of(batch.entropies),
        fullKl_T: null,
        oldLogprobs_T: of(batch.old!),
        referenceLogprobs_T: of(batch.reference),
        samplerLogprobs_T: of(batch.sampler),
        advantages: batch.advantages,
        lengths: batch.lengths,
        mask: batch.mask,
        update,
        betas: batch.lengths.map(() => beta),
        entropyCoefficient,
        settings,
      });
      const numbers = Object.entries(terms).map(([name, values]) => [name, values?.toNumbers()] as const);
      return {
        loss: loss.item(),
        terms: Object.fromEntries(numbers) as Record<keyof typeof terms, number[]>,
      };
    });
  }
}

const CODES = ['B40.old', 'B41.weights', 'B43.terms', 'B47.policy', 'B48.estimator'];
const checks = registry.filter((check): check is StepCheck => CODES.includes(check.code));
const verdicts = (record: StepRecord) =>
  Object.fromEntries(checks.map((check) => [check.code, check.test(record).verdict]));
const passed = Object.fromEntries(checks.map(({ code }) => [code, 'pass']));
const SEEDS = Array.from({ length: 300 }, (_, seed) => seed);

describe('a loss', () => {
  it('of any choices is what the checks recompute', () => {
    for (const seed of SEEDS) {
      const made = caseOf(seed);
      expect(verdicts(recordOf(seed, made)), JSON.stringify(made)).toEqual(passed);
    }
  });

  it.each([
    ['another policy term', 'B47.policy', { objective: { policy: 'sapo' } }],
    ['another trust region', 'B47.policy', { objective: { divergenceLow: 1, divergenceHigh: 1 } }],
    ['another divergence', 'B47.policy', { objective: { policy: 'dppo_kl' } }],
    ['another clip', 'B47.policy', { objective: { clipHigh: 0.02, clipLow: 0.02 } }],
    ['another ratio', 'B40.old', { objective: { ratio: 'sequence' } }],
    ['another aggregation', 'B41.weights', { objective: { aggregation: 'sum' } }],
    ['another share of the entropies', 'B47.policy', { entropy: { topShare: 0.45 } }],
    ['another correction', 'B47.policy', { correction: { max: 1.01 } }],
    ['another estimate', 'B48.estimator', { kl: { estimator: 'k2' } }],
    ['another level', 'B48.estimator', { kl: { level: 'sequence_sum' } }],
    ['a KL as it is', 'B48.estimator', { kl: { biasCorrected: false } }],
    ['another β', 'B43.terms', { kl: { beta: 0.11 } }],
    ['another bonus', 'B43.terms', { entropy: { coefficient: 0.05 } }],
  ] as const)('of %s than is declared fails', (_, code, declared) => {
    const failed = SEEDS.filter((seed) => {
      const record = recordOf(seed, caseOf(seed));
      record.declared = declaredByBoth(record.declared, declared);
      return verdicts(record)[code] === 'fail';
    });
    expect(failed.length).toBeGreaterThan(SEEDS.length / 20);
  });
});

describe('advantages', () => {
  it('of any choices are what is recomputed', () => {
    for (const seed of SEEDS) {
      let key = 0;
      const one = <T>(list: readonly T[]): T => list[Math.floor(uniform(seed, 1, key++) * list.length)]!;
      const settings: AdvantageSettings = {
        baseline: one(['group', 'leave_one_out', 'none']),
        scale: one(SCALES),
        epsilon: one([1e-4, 1e-2]),
        ddof: one([0, 1]),
        floor: one([0, 0.3]),
        flatBelow: one([0, 0.2]),
        flat: one(['zero', 'drop', 'raw']),
        whiten: one([false, true]),
        combine: one(['sum_then_normalize', 'normalize_then_sum']),
      };
      const columns = [2, 3].map((stream) =>
        Float64Array.from({ length: 12 }, (_, b) =>
          // Some are missing, and the first group is flat.
          uniform(seed, stream, b) < 0.1
            ? Number.NaN
            : b < 4
              ? 0.2
              : Math.round(10 * uniform(seed, stream, 20 + b)) / 10,
        ),
      );
      const weights = [1, 0.5];
      const totals = columns[0]!.map((own, b) => own + 0.5 * columns[1]![b]!);
      const table = { columns, weights, totals };
      const groups = [0, 4, 8].map((start) => [start, start + 1, start + 2, start + 3]);
      const expected = advantagesOf(table, 4, settings).advantages;
      const found = recompute(table, groups, { ...PLAIN, ...settings });
      for (const [b, advantage] of expected.entries())
        expect(found[b], `${JSON.stringify(settings)} ${b}`).toBeCloseTo(advantage, 9);
    }
  });
});
