import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { judgeRun, onRows, recordsOf } from '../plants.test.helper.js';

testStepCheck('B22.canary', [
  {
    name: 'a right answer that could not be graded',
    plant: onRows('gold', 0, { value: null }),
    verdict: 'warn',
    evidence: { values: { value: 'none' } },
  },
]);

testLogCheck('B22.log', [
  { name: 'every entry', metrics: { reward_failures: times(10, 2) }, verdict: 'warn' },
  {
    name: 'one in a hundred',
    metrics: { reward_failures: times(100, (i) => (i === 7 ? 1 : 0)) },
    verdict: 'inform',
    evidence: { step: 8 },
  },
]);

testStepCheck('B22.failures', [
  {
    name: 'one completion of 24',
    plant: ({ rewards }) => {
      rewards!.failures = [{ reward: 'right', completion: 5, reason: 'time-out' }];
    },
    verdict: 'inform',
    evidence: { completion: 5, text: 'time-out', values: { reward: 'right' } },
  },
  {
    name: 'a function that failed as a whole',
    plant: ({ rewards }) => {
      rewards!.failures = [{ reward: 'right', completion: null, reason: 'no answer' }];
    },
    verdict: 'warn',
  },
]);

testStepCheck('B22.fallback', [
  {
    name: 'half of the values',
    plant: ({ rewards }) => {
      rewards!.fallbacks = [-0.5];
      rewards!.values!.fill(-0.5, 0, 12);
    },
    verdict: 'warn',
    evidence: { text: 'right', values: { value: -0.5 } },
  },
  {
    name: 'a fallback of 0 beside honest zeros',
    plant: ({ rewards }) => {
      rewards!.fallbacks = [0];
      rewards!.values!.fill(0, 0, 12);
    },
    verdict: 'inform',
  },
]);

const drifting = (changed: object) => (record: StepRecord) => {
  record.probes!.drift = [
    { reward: 'format', since: 1, graded: 3, changed: 0 },
    { reward: 'length', since: 1, graded: 3, changed: 2, ...changed },
  ];
};

testStepCheck('B22.drift', [
  {
    name: 'a punishment that grows with the step',
    plant: drifting({ earned: 1, earns: -0.4 }),
    verdict: 'warn',
    measured: { reward: 'length', changed: 2, earned: 1, earns: -0.4 },
  },
  {
    name: 'a reward that gives nothing any more',
    plant: drifting({ earned: 1, earns: null }),
    verdict: 'warn',
    measured: { earns: 'nothing' },
  },
  { name: 'one that stays', plant: drifting({ changed: 0 }), verdict: 'pass' },
  {
    name: 'the first step',
    plant: (record) => {
      record.probes!.drift = [];
    },
    verdict: 'not applicable',
  },
]);

testStepCheck('B22.unstable', [
  {
    name: 'a judge that times out',
    plant({ probes }) {
      probes!.unstable = ['judge'];
    },
    verdict: 'inform',
    measured: { names: 'judge' },
  },
  { name: 'none', plant: () => {}, verdict: 'pass' },
]);

const together = (equal: boolean) => (record: StepRecord) => {
  record.probes!.together = [{ reward: 'exact', graded: 6, changed: 3, earned: 0, earns: 1, equal }];
};

testStepCheck('B22.together', [
  {
    name: 'a batch of one value',
    plant: together(true),
    verdict: 'warn',
    measured: { changed: 3, earns: 1 },
  },
  { name: 'a ranking', plant: together(false), verdict: 'inform' },
]);

describe('B22.turned', () => {
  /** Every second completion is right; `pays` says what each earns at a step. */
  const judged = (pays: (isRight: boolean, b: number, step: number) => number) =>
    judgeRun(
      'B22.turned',
      recordsOf([1, 2, 3, 4], ({ step, completions, prompts, rewards }) => {
        prompts!.answers = Array.from(prompts!.lengths!, () => '5');
        completions!.texts = completions!.texts!.map((_, b) => `It is ${b % 2 === 0 ? 5 : 6 + b}`);
        rewards!.names = ['right'];
        rewards!.weights = [1];
        rewards!.values = Float64Array.from(completions!.texts, (_, b) => pays(b % 2 === 0, b, step));
        rewards!.totals = rewards!.values;
      }),
    );

  it('warns where later both right answers go unpaid and wrong ones are paid', () => {
    expect(judged((isRight, b, step) => Number(step < 3 || b > 5 ? isRight : !isRight))).toMatchObject({
      severity: 'warn',
      measured: { reward: 'right', agreed: 24, began: 24, right: 12, unpaid: 6, wrong: 12, paid: 6 },
      evidence: expect.arrayContaining([expect.objectContaining({ step: 3, completion: 0 })]),
    });
  });

  it('passes a reward that is gamed, or asks for more than the answer, or does so from the start', () => {
    expect(judged((isRight, b, step) => Number(isRight || (step > 2 && b < 6)))).toMatchObject({
      verdict: 'pass',
    });
    expect(judged((isRight, b, step) => Number(isRight && (step < 3 || b > 5)))).toMatchObject({
      verdict: 'pass',
    });
    // Wrong answers that are right in part, by a judge that dies.
    expect(judged((isRight, _, step) => (step < 3 ? Number(isRight) : isRight ? 0 : 0.9))).toMatchObject({
      verdict: 'pass',
    });
    expect(judged((isRight, b) => Number(b < 6 ? !isRight : isRight))).toMatchObject({
      verdict: 'not applicable',
    });
  });
});
