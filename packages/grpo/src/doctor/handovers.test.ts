import { expect, it } from 'vitest';
import { type Comparison, HAND_OVERS, type StepRecord } from '../trace/index.js';
import type { RunCheck, StepCheck } from './check.js';
import { handOvers } from './registry.js';

const record = (comparisons: Comparison[], missing: NonNullable<StepRecord['audit']>['missing'] = []) =>
  ({ audit: { completions: [0], comparisons, missing } }) as unknown as StepRecord;

const compared = { quantity: 'number', compared: 5, found: 1, plain: 2, deviation: 1, bound: 1 };

it('there is a check for each hand-over, in their order', () => {
  expect(handOvers.map(({ code }) => code)).toEqual(
    HAND_OVERS.map((_, i) => `H${String(i + 1).padStart(2, '0')}`),
  );
});

it.each(HAND_OVERS.map((handOver, i) => [handOver, handOvers[i]!.checks[0] as StepCheck] as const))(
  '%s is judged by its own comparisons',
  (handOver, check) => {
    const own = { ...compared, handOver };
    const other = { ...own, handOver: HAND_OVERS.find((name) => name !== handOver)!, deviation: 9 };
    expect(check.test(record([own, other]))).toEqual({
      verdict: 'pass',
      measured: { comparisons: 1, compared: 5 },
    });
    const far = { ...own, deviation: 1.5, found: 3.5, tensor: 'head', completion: 3, token: 0 };
    const outcome = check.test(record([own, far]));
    expect(outcome).toMatchObject({
      verdict: 'fail',
      measured: { found: 3.5, plain: 2, deviation: 1.5, bound: 1 },
      evidence: [{ completion: 3, token: 0, text: 'head' }],
    });
    expect(check.says((outcome as { measured: Record<string, number> }).measured)).toContain(
      'number of head is 3.5; the plain path has 2',
    );
    expect(check.test(record([{ ...own, deviation: Number.NaN }])).verdict).toBe('fail');
    expect(check.test(record([other], [{ handOver, what: 'a plain form of the loss' }]))).toEqual({
      verdict: 'not applicable',
      missing: ['a plain form of the loss'],
    });
  },
);

it('draws that are a little too likely in each step add up', () => {
  const check = handOvers[1]!.checks.find(({ code }) => code === 'H02.surprise') as RunCheck;
  const steps = (count: number, found: (i: number) => number) =>
    Array.from({ length: count }, (_, i) => {
      const own = { ...compared, handOver: 'completion' as const, quantity: 'surprise of the draws' };
      const seen = check.see({
        ...record([{ ...own, found: found(i), plain: 100, bound: 60, compared: 90 }]),
        step: i,
      });
      return { step: i, value: (seen as { value: object }).value };
    });
  expect(check.test(steps(2, () => 65)).verdict).toBe('pass');
  const outcome = check.test(steps(16, () => 65));
  expect(outcome).toMatchObject({
    verdict: 'fail',
    measured: { tokens: 1440, found: 1040, plain: 1600, bound: 240 },
  });
  expect(check.test(steps(16, (i) => (i % 2 === 0 ? 65 : 135))).verdict).toBe('pass');
});
