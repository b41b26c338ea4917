import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { judgeRun, probed, recordsOf } from '../plants.test.helper.js';

const gap = 'sampling/sampling_logp_difference/mean';

testStepCheck('B55.probe', [
  { name: 'the weights that were handed over', plant: () => {}, verdict: 'pass' },
  {
    name: 'those of the time before, under the new name',
    plant: probed((probe) => ({ cold: probe.before!.map((value, t) => value + 1e-5 * (t % 3)) })),
    verdict: 'fail',
    measured: { weights: 'stale', expected: 'step-2', previous: 'step-1' },
  },
  {
    name: 'those of the time before, of an update far below the rounding of the server',
    plant: probed((probe) => {
      const before = probe.trainer.map((value, t) => value + (t % 5 ? 1e-4 : -3e-4));
      return { before, cold: before.map((value, t) => value + 1e-5 * (t % 3)), bound: 0.05 };
    }),
    verdict: 'fail',
    measured: { weights: 'stale' },
  },
  {
    name: 'an update that rounding hides',
    plant: probed((probe) => ({
      before: probe.trainer.map((value, t) => value + (t % 5 ? 1e-6 : -3e-6)),
    })),
    verdict: 'not applicable',
  },
  {
    name: 'the same with equal checksums',
    plant: probed((probe) => ({
      before: probe.trainer.map((value, t) => value + (t % 5 ? 1e-6 : -3e-6)),
      checksums: { trainer: 7, server: 7 },
    })),
    verdict: 'pass',
  },
  {
    name: 'an update that changed nothing',
    plant: probed((probe) => ({ before: probe.trainer.slice() })),
    verdict: 'not applicable',
  },
  {
    name: 'the first weights, with nothing to compare them with',
    plant: probed(() => ({ before: undefined, previous: undefined })),
    verdict: 'not applicable',
  },
  {
    name: 'weights of another model',
    plant: probed((probe) => ({ cold: probe.trainer.map((value, t) => value - 0.1 * (t % 4)) })),
    verdict: 'fail',
    measured: { weights: 'other' },
  },
  {
    name: 'log-probs that are NaN',
    plant: probed((probe) => ({ cold: probe.trainer.map(() => Number.NaN) })),
    verdict: 'fail',
    measured: { weights: 'other' },
  },
  {
    name: 'the right log-probs under another version',
    plant: probed(() => ({ answered: 'step-1' })),
    verdict: 'fail',
    measured: { weights: 'other', answered: 'step-1' },
  },
  {
    name: 'checksums that differ',
    plant: probed(() => ({ checksums: { trainer: 7, server: 8 } })),
    verdict: 'fail',
  },
]);

testLogCheck('B55.checksum', [
  {
    name: 'the first weights for ever',
    metrics: { 'checksum/sampler': [1, 1, 1], 'checksum/policy': [2, 3, 4] },
    verdict: 'fail',
    measured: { entries: 2, apart: 2 },
    evidence: { step: 2 },
  },
  {
    name: 'those of the step before',
    metrics: { 'checksum/sampler': [1, 2, 3], 'checksum/policy': [2, 3, 4] },
    verdict: 'pass',
  },
  {
    name: 'a sampler that does not tell',
    metrics: { 'checksum/sampler': [1, undefined], 'checksum/policy': [2, 3] },
    verdict: 'not applicable',
  },
]);

testLogCheck('B55.log', [
  {
    name: 'a KL of sampler and trainer that grows',
    metrics: { 'sampling/kl': times(17, (i) => 0.002 * 1.2 ** i * (1 + 0.1 * (i % 2))) },
    verdict: 'warn',
    measured: { step: expect.any(Number) },
  },
  {
    name: 'one that does not',
    metrics: { 'sampling/kl': times(17, (i) => 0.002 + 0.001 * (i % 2)) },
    verdict: 'pass',
  },
  { name: 'grows', metrics: { [gap]: times(40, (i) => 0.005 + i / 200) }, verdict: 'warn' },
  {
    name: 'what two engines differ by',
    metrics: { [gap]: times(40, (i) => 0.005 + i / 4000) },
    verdict: 'pass',
  },
  {
    name: 'with the entropy',
    metrics: { [gap]: times(40, (i) => 0.005 + i / 200), entropy: times(40, (i) => 0.1 + i / 10) },
    verdict: 'pass',
  },
  {
    name: 'a penalty on repetition, which scoring lacks',
    metrics: { [gap]: times(40, (i) => 0.005 + i / 200) },
    declared: { rollout: { repetitionPenalty: 1.1 } },
    verdict: 'not applicable',
  },
  {
    name: 'large from the start',
    metrics: { [gap]: times(40, (i) => 0.2 + (i % 3) / 100) },
    verdict: 'pass',
  },
]);

describe('B55.stale', () => {
  const off = (record: StepRecord, by: number) => {
    const [update] = record.updates!;
    update!.policyLogprobs = update!.policyLogprobs!.map((value) => value - by);
  };
  it('finds a sampler that has the first weights for ever', () => {
    const found = judgeRun(
      'B55.stale',
      recordsOf([1, 2, 10], (record, step) => off(record, step === 1 ? 0 : 0.02 * step)),
    );
    expect(found).toMatchObject({ severity: 'warn', steps: [], evidence: [{ step: 2 }, { step: 10 }] });
  });
  it('leaves a gap from the first step on to B39', () => {
    expect(
      judgeRun(
        'B55.stale',
        recordsOf([1, 2, 10], (record) => off(record, 0.05)),
      ),
    ).toMatchObject({ verdict: 'pass' });
  });
  it('needs step 1, and a second one', () => {
    expect(
      judgeRun(
        'B55.stale',
        recordsOf([2, 10], () => {}),
      ),
    ).toMatchObject({ verdict: 'not applicable' });
    expect(
      judgeRun(
        'B55.stale',
        recordsOf([1], () => {}),
      ),
    ).toMatchObject({
      verdict: 'not applicable',
      missing: ['records of two steps'],
    });
  });
});

testLogCheck('B55.returns', [
  {
    name: 'gone and back, twice',
    metrics: { kl: [0.0007, 10.98, 0.006, 0.011, 0.003, 0.003, 25.8, 0.003] },
    verdict: 'warn',
    evidence: { step: 2 },
    measured: { spikes: 2 },
  },
  { name: 'once', metrics: { kl: [0.0007, 10.98, 0.006, 0.011, 0.003] }, verdict: 'pass' },
  { name: 'gone for good', metrics: { kl: [0.0007, 0.1, 6, 8, 9, 10] }, verdict: 'pass' },
  {
    name: 'two of a hundred',
    metrics: { kl: times(100, (i) => (i === 20 || i === 60 ? 9 : 0.01)) },
    verdict: 'pass',
  },
]);
