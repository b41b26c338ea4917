import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, times } from '../planted.test.helper.js';
import { judgeRun, recordsOf } from '../plants.test.helper.js';

const gap = 'sampling/sampling_logp_difference/mean';

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
