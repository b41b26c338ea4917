import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { judgeRun, recordsOf } from '../plants.test.helper.js';

const STEPS = [1, 2, 3, 4, 5];

/** Gives a step the prompts of the first. */
const repeated = (record: StepRecord) => {
  const [first] = recordsOf([1], () => {});
  record.prompts!.ids = first!.prompts!.ids!;
  record.prompts!.lengths = first!.prompts!.lengths!;
};

describe('B56.repeated', () => {
  it('warns of one batch in every step', () => {
    expect(judgeRun('B56.repeated', recordsOf(STEPS, repeated))).toMatchObject({
      severity: 'warn',
      measured: { records: 5, different: 1 },
    });
  });

  it('passes steps of different prompts, and the few of one rollout', () => {
    expect(
      judgeRun(
        'B56.repeated',
        recordsOf(STEPS, () => {}),
      ),
    ).toMatchObject({ verdict: 'pass' });
    const but = recordsOf(STEPS, (record, step) => (step === 3 ? undefined : repeated(record)));
    expect(judgeRun('B56.repeated', but)).toMatchObject({ verdict: 'pass' });
    expect(judgeRun('B56.repeated', recordsOf([1, 2, 3], repeated))).toMatchObject({ verdict: 'pass' });
  });
});
