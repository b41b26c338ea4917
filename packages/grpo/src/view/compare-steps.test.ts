import { describe, expect, it } from 'vitest';
import { richRecord } from '../doctor/rich-record.test.helper.js';
import type { StepRecord } from '../trace/index.js';
import { compareSteps } from './compare-steps.js';

const record = () => richRecord({ step: 2 });

/** Each change alone, and where it is found. */
const CHANGES: [string, (record: StepRecord) => void, string][] = [
  ['ids of the prompts', (r) => r.prompts!.ids!.set([9], 3), 'prompt 0, token 3'],
  ['sampled ids', (r) => r.completions!.ids!.set([9], 4), 'completion 0.1, token 1'],
  ['reasons of the ends', (r) => r.completions!.finish!.splice(5, 1, 'length'), 'completion 1.1'],
  ['totals', (r) => r.rewards!.totals!.set([0.7], 2), 'completion 0.2'],
  ['values of the rewards', (r) => r.rewards!.values!.set([0.7], 6), 'reward right, completion 1.2'],
  ['advantages', (r) => r.advantages!.set([2], 9), 'completion 2.1'],
  ['log-probs of the reference', (r) => r.scored!.referenceLogprobs!.set([-9], 2), 'completion 0.0, token 2'],
  ['log-probs of the policy', (r) => r.updates![0]!.policyLogprobs!.set([-9], 0), 'completion 0.0, token 0'],
  ['weights of the terms', (r) => r.updates![0]!.weights!.set([0.5], 1), 'completion 0.0, token 1'],
  ['loss', (r) => Object.assign(r.updates![1]!, { loss: 7 }), 'update 2'],
];

describe('the first difference', () => {
  it.each(CHANGES)('of changed %s is there', (quantity, change, where) => {
    const other = record();
    change(other);
    const { difference, compared } = compareSteps(record(), other);
    expect(difference).toMatchObject({ quantity, differing: 1, first: { where } });
    expect(compared.filter(({ differing }) => differing > 0)).toEqual([difference]);
  });

  it('counts the prompts that only one of the steps has', () => {
    const other = record();
    other.prompts!.texts = ['another'];
    const own = record();
    own.prompts!.texts = ['another', 'second', 'third'];
    expect(compareSteps(own, other).difference).toMatchObject({
      values: 3,
      differing: 2,
      first: { where: 'number of rows', here: 3, there: 1 },
    });
  });

  it('is the earliest of several', () => {
    const other = record();
    for (const [, change] of [...CHANGES].reverse()) change(other);
    expect(compareSteps(record(), other).difference!.quantity).toBe('ids of the prompts');
  });

  it('is none of a step and itself, and none that rounding makes', () => {
    const other = record();
    other.updates![0]!.policyLogprobs = other.updates![0]!.policyLogprobs!.map((x) => x + 2e-6);
    const { difference, compared, missing } = compareSteps(record(), other);
    expect(difference).toBeUndefined();
    expect(compared.length).toBeGreaterThan(12);
    expect(missing.length + compared.length).toBe(22);
  });

  it('is one that many tokens share, in half precision too', () => {
    const half = () => {
      const one = record();
      one.declared!.dtype = 'bfloat16';
      return one;
    };
    const [near, far] = [0.01, 0.2].map((gap) => {
      const other = half();
      other.updates![0]!.policyLogprobs = other.updates![0]!.policyLogprobs!.map((x) => x - gap);
      return compareSteps(half(), other).difference;
    });
    expect(near).toBeUndefined();
    expect(far).toMatchObject({ quantity: 'log-probs of the policy', differing: 1 });
  });

  it('is found however small the numbers are', () => {
    const [here, there] = [record(), record()];
    for (const one of [here, there]) {
      const [update] = one.updates!;
      Object.assign(update!, { learningRate: 1e-6, gradNorm: 0.02 });
      update!.weights = update!.weights!.map((weight) => weight * 1e-5);
    }
    const differenceWith = (change: object) => {
      const [update, ...others] = there.updates!;
      const other = { ...there, updates: [{ ...update!, ...change }, ...others] };
      return compareSteps(here, other).difference?.quantity;
    };
    expect(differenceWith({})).toBeUndefined();
    expect(differenceWith({ learningRate: 1.001e-6 })).toBe('learning rate');
    expect(differenceWith({ gradNorm: 0.0201 })).toBe('norm of the gradient');
    expect(differenceWith({ gradNorm: 0.020002 })).toBeUndefined();
    const weights = here.updates![0]!.weights!.map((weight) => weight * 1.01);
    expect(differenceWith({ weights })).toBe('weights of the terms');
  });

  it('is none of another order of the completions in an update', () => {
    const [here, there] = [record(), record()];
    const [update] = there.updates!;
    const lengths = there.scored!.lengths!;
    const order = Int32Array.from([...lengths.keys()].reverse());
    const starts = lengths.map((_, b) => lengths.subarray(0, b).reduce((a, c) => a + c, 0));
    const reordered = (values: Float32Array) =>
      Float32Array.from([...order].flatMap((b) => [...values.subarray(starts[b], starts[b]! + lengths[b]!)]));
    for (const key of ['policyLogprobs', 'policyTerms', 'klTerms', 'weights', 'ratios'] as const)
      if (update![key]) update![key] = reordered(update![key]);
    update!.completions = order;
    expect(compareSteps(here, there).difference).toBeUndefined();
    // The last row is now that of the first completion.
    update!.policyLogprobs!.set([-9], update!.policyLogprobs!.length - 1);
    expect(compareSteps(here, there).difference!.first!.where).toBe(
      `completion 0.0, token ${lengths[0]! - 1}`,
    );
  });

  it('is none of what one record lacks', () => {
    const { advantages: _, ...other } = record();
    const { difference, missing } = compareSteps(record(), other);
    expect(difference).toBeUndefined();
    expect(missing).toContain('advantages');
  });
});
