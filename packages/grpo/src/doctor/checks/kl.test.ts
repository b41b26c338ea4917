import { expect } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { change, startOf, testStepCheck } from '../planted.test.helper.js';

const declare = (changes: NonNullable<StepRecord['declared']>) => (record: StepRecord) => {
  record.declared = { ...record.declared, ...changes };
};
const all =
  (...plants: ((record: StepRecord) => void)[]) =>
  (record: StepRecord) => {
    for (const plant of plants) plant(record);
  };
/** The KL of each token of the first update from log π − log π_ref. */
const estimate = (of: (d: number) => number) => (record: StepRecord) => {
  const policy = record.updates![0]!.policyLogprobs!;
  const reference = record.scored!.referenceLogprobs!;
  change(record, 'klTerms', (_, i) => of(policy[i]! - reference[i]!));
};
const k3 = (d: number) => Math.exp(-d) + d - 1;

testStepCheck('B51.start', [
  {
    name: 'another reference',
    plant: ({ scored }) => {
      scored!.referenceLogprobs = scored!.referenceLogprobs!.map((value) => value - 0.2);
    },
    verdict: 'fail',
  },
  {
    name: 'kernels of bfloat16',
    plant: all(
      ({ scored }) => {
        scored!.referenceLogprobs = scored!.referenceLogprobs!.map((value) => value - 0.01);
      },
      declare({ dtype: 'bfloat16' }),
    ),
    verdict: 'pass',
  },
  { name: 'a later step', into: { step: 5 }, plant: () => {}, verdict: 'not applicable' },
]);

testStepCheck('B48.estimator', [
  {
    name: 'k1 where k3 is declared',
    into: { step: 5 },
    plant: estimate((d) => d),
    verdict: 'fail',
    measured: { estimate: 'k3', fits: 'k1' },
  },
  {
    name: 'the other direction',
    into: { step: 5 },
    plant: estimate((d) => k3(-d)),
    verdict: 'fail',
    measured: { fits: 'none known' },
  },
  {
    name: 'k2, as declared',
    into: { step: 5 },
    plant: all(
      estimate((d) => (d * d) / 2),
      declare({ kl: 'k2' }),
    ),
    verdict: 'pass',
  },
  {
    name: 'k2, and none is declared',
    into: { step: 5 },
    plant: all(
      estimate((d) => (d * d) / 2),
      ({ declared }) => void delete declared!.kl,
    ),
    verdict: 'pass',
    measured: { estimate: 'k2' },
  },
  {
    name: 'small ones of the wrong kind',
    into: { step: 5 },
    plant: all(
      (record) => {
        const { policyLogprobs } = record.updates![0]!;
        record.scored!.referenceLogprobs = policyLogprobs!.map((value, i) => value - 0.002 * ((i % 3) - 1));
      },
      estimate((d) => d),
    ),
    verdict: 'fail',
    measured: { fits: 'k1' },
  },
  {
    name: 'masked tokens',
    into: { step: 5 },
    plant: (record) => {
      record.updates![0]!.klTerms!.fill(7, startOf(record, 20));
      record.scored!.mask!.fill(0, startOf(record, 20));
    },
    verdict: 'pass',
  },
  {
    name: 'the full KL is none of them',
    into: { step: 5 },
    plant: declare({ kl: 'full' }),
    verdict: 'not applicable',
  },
]);

testStepCheck('B48.in-loss', [
  { name: 'k1', plant: declare({ kl: 'k1' }), verdict: 'warn' },
  { name: 'k1 in the reward', plant: declare({ kl: 'k1', klPlace: 'reward' }), verdict: 'not applicable' },
  { name: 'k1 × ratio', plant: declare({ kl: 'k1', klBiasCorrected: true }), verdict: 'pass' },
  { name: 'k1 with β 0', plant: declare({ kl: 'k1', beta: 0 }), verdict: 'not applicable' },
]);

testStepCheck('B49.nonnegative', [
  {
    name: 'below 0',
    into: { step: 5 },
    plant: (record) => void record.updates![0]!.klTerms!.fill(-0.1, 60, 61),
    verdict: 'fail',
    evidence: { values: { kl: expect.closeTo(-0.1) } },
  },
  {
    name: 'overflow',
    into: { step: 5 },
    plant: (record) => void record.updates![0]!.klTerms!.fill(Number.POSITIVE_INFINITY, 60, 61),
    verdict: 'fail',
  },
  {
    name: '|d| below 0',
    into: { step: 5 },
    plant: all((record) => void record.updates![0]!.klTerms!.fill(-0.1, 60, 61), declare({ kl: 'abs' })),
    verdict: 'fail',
  },
  { name: 'k1 may be', into: { step: 5 }, plant: declare({ kl: 'k1' }), verdict: 'not applicable' },
  {
    name: 'rounding of bfloat16',
    into: { step: 5 },
    plant: all((record) => void record.updates![0]!.klTerms!.fill(-0.004), declare({ dtype: 'bfloat16' })),
    verdict: 'pass',
  },
  {
    name: 'no estimate declared',
    plant: ({ declared }) => void delete declared!.kl,
    verdict: 'not applicable',
  },
]);

testStepCheck('B49.share', [
  {
    name: 'one token has it all',
    into: { step: 5 },
    plant: (record) => change(record, 'klTerms', (_, i) => (i === 90 ? 80_000 : 1e-3)),
    verdict: 'inform',
  },
  {
    name: 'sums over completions',
    into: { step: 5 },
    plant: declare({ klLevel: 'sequence_sum' }),
    verdict: 'not applicable',
  },
  {
    name: 'a masked token has it all',
    into: { step: 5 },
    plant: (record) => {
      change(record, 'klTerms', (value, i) => (i === 90 ? 80_000 : value));
      record.scored!.mask![90] = 0;
    },
    verdict: 'pass',
  },
]);
