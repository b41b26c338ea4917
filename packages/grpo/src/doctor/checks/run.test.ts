import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { examine } from '../examine.js';
import { cleanRecord } from '../record.test.helper.js';
import { registry } from '../registry.js';

/** Records of some steps, each changed. */
const recordsOf = (steps: readonly number[], change: (record: StepRecord, step: number) => void) =>
  steps.map((step) => {
    const record = cleanRecord(step, step);
    change(record, step);
    return record;
  });

/** What a check over the run says of them. */
function judge(code: string, records: StepRecord[]) {
  const checks = registry.filter((check) => check.code === code);
  const { findings, judgements } = examine({ records }, checks);
  return findings[0] ?? judgements[0]!;
}

describe('B55.stale', () => {
  const off = (record: StepRecord, by: number) => {
    const [update] = record.updates!;
    update!.policyLogprobs = update!.policyLogprobs!.map((value) => value - by);
  };
  it('finds a sampler that has the first weights for ever', () => {
    const found = judge(
      'B55.stale',
      recordsOf([1, 2, 10], (record, step) => off(record, step === 1 ? 0 : 0.02 * step)),
    );
    expect(found).toMatchObject({ severity: 'warn', steps: [], evidence: [{ step: 2 }, { step: 10 }] });
  });
  it('leaves a gap from the first step on to B39', () => {
    expect(
      judge(
        'B55.stale',
        recordsOf([1, 2, 10], (record) => off(record, 0.05)),
      ),
    ).toMatchObject({ verdict: 'pass' });
  });
  it('needs step 1, and a second one', () => {
    expect(
      judge(
        'B55.stale',
        recordsOf([2, 10], () => {}),
      ),
    ).toMatchObject({ verdict: 'not applicable' });
    expect(
      judge(
        'B55.stale',
        recordsOf([1], () => {}),
      ),
    ).toMatchObject({
      verdict: 'not applicable',
      missing: ['records of two steps'],
    });
  });
});

describe('B51.anchor', () => {
  const anchored = (sums: string[]) =>
    recordsOf(
      [...sums.keys()].map((i) => i + 1),
      (record, step) => {
        record.probes!.referenceChecksum = sums[step - 1]!;
      },
    );
  it('finds a reference that moves', () => {
    expect(judge('B51.anchor', anchored(['a', 'a', 'b', 'b']))).toMatchObject({
      severity: 'fail',
      measured: { changes: 1 },
      evidence: [{ step: 3 }],
    });
  });
  it('leaves one alone that is declared to move', () => {
    const records = anchored(['a', 'b', 'c']);
    for (const { declared } of records) declared!.referenceEvery = 1;
    expect(judge('B51.anchor', records)).toMatchObject({ verdict: 'not applicable' });
  });
  it('passes one that stays', () => {
    expect(judge('B51.anchor', anchored(['a', 'a', 'a']))).toMatchObject({ verdict: 'pass' });
  });
  it('needs checksums', () => {
    expect(
      judge(
        'B51.anchor',
        recordsOf([1, 2], () => {}),
      ),
    ).toMatchObject({
      verdict: 'not applicable',
      missing: ['probes.referenceChecksum', 'records of two steps'],
    });
  });
});

describe('B60.memory', () => {
  const sized = (steps: number[], bytes: (step: number) => number) =>
    recordsOf(steps, (record, step) => {
      record.stages = [{ name: 'update', seconds: 1, bytes: bytes(step) }];
    });
  const steps = [1, 2, 10, 20, 30, 40];
  it('finds a graph that is kept', () => {
    expect(
      judge(
        'B60.memory',
        sized(steps, (step) => 4e8 + 1e8 * step + (step % 3)),
      ),
    ).toMatchObject({
      severity: 'inform',
      measured: { records: 6 },
    });
  });
  it('passes memory that goes up and down', () => {
    expect(
      judge(
        'B60.memory',
        sized(steps, (step) => 4e8 + 1e7 * (step % 3)),
      ),
    ).toMatchObject({ verdict: 'pass' });
  });
  it('needs 20 steps', () => {
    expect(
      judge(
        'B60.memory',
        sized([1, 2, 3, 4, 5], () => 1),
      ),
    ).toMatchObject({ verdict: 'not applicable' });
  });
});
