import { describe, expect, it } from 'vitest';
import { testLogCheck, testStepCheck } from '../planted.test.helper.js';
import { all, declare, judgeRun, recordsOf } from '../plants.test.helper.js';

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

testLogCheck('B51.log', [
  { name: 'not 0 at once', metrics: { kl: [1.007, 1] }, verdict: 'fail', evidence: { step: 1 } },
  {
    name: 'sums over completions',
    metrics: { kl: [0.3, 1] },
    declared: { kl: { level: 'sequence_sum' } },
    verdict: 'not applicable',
  },
  {
    name: '|d| of bfloat16',
    metrics: { kl: [0.02, 1] },
    declared: { kl: { estimator: 'abs' }, dtype: 'bfloat16' },
    verdict: 'pass',
  },
  {
    name: 'a loss of one’s own',
    metrics: { kl: [1.007, 1] },
    declared: { ownStages: ['objective'] },
    verdict: 'not applicable',
  },
  { name: 'noise of bfloat16', metrics: { kl: [0.0005, 0.01] }, verdict: 'pass' },
  {
    name: 'averaged over ten steps',
    metrics: { kl: [1.007, 1] },
    series: { stepsPerEntry: 10 },
    verdict: 'not applicable',
  },
  { name: 'a log that begins later', metrics: { kl: [1.007, 1] }, firstStep: 5, verdict: 'not applicable' },
]);

describe('B51.anchor', () => {
  const anchored = (sums: string[]) =>
    recordsOf(
      [...sums.keys()].map((i) => i + 1),
      (record, step) => {
        record.probes!.referenceChecksum = sums[step - 1]!;
      },
    );
  it('finds a reference that moves', () => {
    expect(judgeRun('B51.anchor', anchored(['a', 'a', 'b', 'b']))).toMatchObject({
      severity: 'fail',
      measured: { changes: 1 },
      evidence: [{ step: 3 }],
    });
  });
  it('leaves one alone that is declared to move', () => {
    const records = anchored(['a', 'b', 'c']);
    for (const { declared } of records) declared!.kl!.referenceEvery = 1;
    expect(judgeRun('B51.anchor', records)).toMatchObject({ verdict: 'not applicable' });
  });
  it('passes one that stays', () => {
    expect(judgeRun('B51.anchor', anchored(['a', 'a', 'a']))).toMatchObject({ verdict: 'pass' });
  });
  it('needs checksums', () => {
    expect(
      judgeRun(
        'B51.anchor',
        recordsOf([1, 2], () => {}),
      ),
    ).toMatchObject({
      verdict: 'not applicable',
      missing: ['probes.referenceChecksum', 'records of two steps'],
    });
  });
});
