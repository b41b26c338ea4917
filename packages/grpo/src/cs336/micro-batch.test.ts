import { grad, memory, type Tensor, tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { PLAIN } from '../objective/batch.test.helper.js';
import { composedLoss, type LossSettings } from '../objective/index.js';
import { fixture, isClose, numbersOf, STRICT, toTensor } from './fixture.test.helper.js';
import {
  computeGrpoClipLoss,
  computePolicyGradientLoss,
  grpoMicrobatchTrainStep,
  type LossType,
  maskedMean,
  maskedNormalize,
  sftMicrobatchTrainStep,
} from './index.js';

const given = (name: string) => toTensor(fixture.inputs[name]!, 'float64');
const leaf = (made: Tensor) => {
  made.requiresGrad = true;
  return made;
};
const CLIP_RANGE = 0.1;

const composed: LossSettings = {
  ...PLAIN,
  aggregation: 'sequence_mean',
  clipLow: CLIP_RANGE,
  clipHigh: CLIP_RANGE,
};

/** The same micro-batch, which is half of an update, by the loss that `grpo train` uses. */
function ours(settings: Partial<LossSettings>, factors: readonly number[]) {
  const logprobs_T = leaf(given('policyLogProbs').reshape([-1]).detach());
  const mask = Uint8Array.from(numbersOf(fixture.inputs.responseMask!));
  const { loss } = composedLoss({
    logprobs_T,
    entropies_T: logprobs_T.detach(),
    oldLogprobs_T: given('oldLogProbs').reshape([-1]),
    referenceLogprobs_T: null,
    samplerLogprobs_T: null,
    fullKl_T: null,
    advantages: factors,
    lengths: [10, 10],
    mask,
    update: { completions: 4, tokens: 2 * mask.reduce((a, b) => a + b, 0) },
    betas: [0, 0],
    entropyCoefficient: 0,
    settings: { ...composed, ...settings },
  });
  loss.backward();
  return { loss: loss.item(), grad: logprobs_T.grad!.toNumbers() };
}

const exact = { relative: 1e-12, absolute: 1e-12 };

describe('a micro-batch step', () => {
  it.each<[LossType, 'rawRewards' | 'advantages', Partial<LossSettings>]>([
    ['no_baseline', 'rawRewards', { policy: 'reinforce' }],
    ['reinforce_with_baseline', 'advantages', { policy: 'reinforce' }],
    ['grpo_clip', 'advantages', {}],
  ])('of %s is one of the composed loss', (lossType, factor, settings) => {
    const policyLogProbs = leaf(given('policyLogProbs'));
    const { loss } = grpoMicrobatchTrainStep({
      policyLogProbs,
      responseMask: given('responseMask'),
      gradientAccumulationSteps: 2,
      lossType,
      [factor]: given(factor),
      oldLogProbs: given('oldLogProbs'),
      cliprange: CLIP_RANGE,
    });
    const expected = ours(settings, given(factor).toNumbers());
    expect(loss.item()).toBeCloseTo(expected.loss, 12);
    expect(isClose(policyLogProbs.grad!.toNumbers(), expected.grad, exact)).toBe(true);
  });

  it('of SFT is a composed loss with advantages of 1', () => {
    const policyLogProbs = leaf(given('policyLogProbs'));
    const { loss } = sftMicrobatchTrainStep({
      policyLogProbs,
      responseMask: given('responseMask'),
      gradientAccumulationSteps: 2,
      normalizeConstant: 42,
    });
    const expected = ours({ policy: 'reinforce', aggregation: 'constant', normalizer: 42 }, [1, 1]);
    expect(loss.item()).toBeCloseTo(expected.loss, 12);
    expect(isClose(policyLogProbs.grad!.toNumbers(), expected.grad, exact)).toBe(true);
  });

  it('leaves nothing behind but its loss', () => {
    const policyLogProbs = leaf(given('policyLogProbs'));
    const options = { policyLogProbs, responseMask: given('responseMask'), gradientAccumulationSteps: 1 };
    sftMicrobatchTrainStep(options).loss.dispose();
    const { tensors } = memory();
    // In a scope that would hold what is left, and often: what other tests left may be collected meanwhile.
    tidy(() => {
      for (let i = 0; i < 300; i++) sftMicrobatchTrainStep(options).loss.dispose();
      expect(memory().tensors).toBeLessThanOrEqual(tensors);
    });
  });

  it('lets what is masked be anything', () => {
    const policyLogProbs = leaf(tensor([-1, Number.NEGATIVE_INFINITY, -2, -3], [2, 2]));
    const responseMask = tensor([1, 0, 1, 1], [2, 2], { dtype: 'bool' });
    const { loss } = sftMicrobatchTrainStep({ policyLogProbs, responseMask, gradientAccumulationSteps: 1 });
    expect(loss.item()).toBe(3);
    expect(policyLogProbs.grad!.toNumbers().map(Math.abs)).toEqual([0.5, 0, 0.5, 0.5]);
  });

  it('refuses a completion that has no response, before it adds a gradient', () => {
    const policyLogProbs = leaf(given('policyLogProbs'));
    const responseMask = tensor([...new Array(10).fill(1), ...new Array(10).fill(0)], [2, 10]);
    const step = () =>
      grpoMicrobatchTrainStep({
        policyLogProbs,
        responseMask,
        gradientAccumulationSteps: 2,
        lossType: 'no_baseline',
        rawRewards: given('rawRewards'),
      });
    expect(step).toThrow('grpoMicrobatchTrainStep: row 1 of responseMask has no token');
    expect(policyLogProbs.grad).toBeNull();
  });
});

describe('the losses', () => {
  it('give the old log-probs no gradient, so that those of the policy itself are a ratio of 1', () => {
    const policyLogProbs = leaf(given('policyLogProbs'));
    const advantages = given('advantages');
    const { loss } = computeGrpoClipLoss({
      policyLogProbs,
      oldLogProbs: policyLogProbs,
      advantages,
      cliprange: 0.2,
    });
    const [slope] = grad([loss.sum()], [policyLogProbs]);
    const expected = advantages.neg().expand([2, 10]).reshape([-1]).toNumbers();
    expect(isClose(slope!.toNumbers(), expected, exact)).toBe(true);
  });

  it('have no flags but those of the clip', () => {
    const options = { policyLogProbs: given('policyLogProbs'), rawRewards: given('rawRewards') };
    expect(computePolicyGradientLoss({ ...options, lossType: 'no_baseline' }).metadata).toEqual({});
  });
});

describe('a mean or a constant', () => {
  it('weighs the tokens of short completions differently', () => {
    const ones = new Array(14).fill(2);
    const mask = tensor([1, 1, 1, 1, 0, 0, 0, ...new Array(7).fill(1)], [2, 7]);
    const options = { tensor: tensor(ones, [2, 7]), mask, dim: 1 };
    expect(maskedMean(options).toNumbers()).toEqual([2, 2]);
    const sums = maskedNormalize({ ...options, normalizeConstant: 7 }).toNumbers();
    expect(isClose(sums, [8 / 7, 2], STRICT)).toBe(true);
  });

  it('counts in integers what half precision cannot count', () => {
    const options = {
      tensor: tensor(new Array(1000).fill(1)).to('bfloat16'),
      mask: tensor(new Array(1000).fill(1)),
    };
    expect(maskedMean(options).item()).toBe(1);
  });
});
