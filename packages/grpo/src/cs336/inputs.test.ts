import { ones } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import * as cs336 from './index.js';

/** Every function with the inputs that it cannot do without. */
const REQUIRED: Record<keyof typeof cs336, string[]> = {
  tokenizePromptAndOutput: ['promptStrs', 'outputStrs', 'tokenizer'],
  computeGroupNormalizedRewards: [
    'rewardFn',
    'rolloutResponses',
    'repeatedGroundTruths',
    'groupSize',
    'advantageEps',
    'normalizeByStd',
  ],
  computeEntropy: ['logits'],
  getResponseLogProbs: ['model', 'inputIds', 'labels'],
  computeNaivePolicyGradientLoss: ['rawRewardsOrAdvantages', 'policyLogProbs'],
  computeGrpoClipLoss: ['policyLogProbs', 'advantages', 'oldLogProbs', 'cliprange'],
  computePolicyGradientLoss: ['lossType'],
  maskedMean: ['tensor', 'mask'],
  maskedNormalize: ['tensor', 'mask'],
  grpoMicrobatchTrainStep: ['policyLogProbs', 'responseMask', 'gradientAccumulationSteps'],
  sftMicrobatchTrainStep: ['policyLogProbs', 'responseMask', 'gradientAccumulationSteps'],
  getPackedSftDataset: ['tokenizer', 'datasetPath', 'seqLength', 'shuffle', 'template'],
  iterateBatches: ['dataset', 'batchSize', 'shuffle'],
  parseMmluResponse: ['mmluExample', 'modelOutput'],
  parseGsm8kResponse: ['modelOutput'],
  computePerInstanceDpoLoss: [
    'lm',
    'lmRef',
    'tokenizer',
    'beta',
    'prompt',
    'responseChosen',
    'responseRejected',
    'template',
  ],
};

const functions = new Map(Object.entries(cs336));

describe.each(Object.entries(REQUIRED))('%s', (name, required) => {
  const call = functions.get(name) as unknown as (options?: object) => unknown;
  // One that is asynchronous rejects, the others throw.
  const calling = (options?: object) => expect(async () => call(options)).rejects;

  it('names all that is missing', async () => {
    const message = `${name} needs ${required.join(', ')}: not given`;
    await calling({}).toThrow(new TypeError(message));
    await calling().toThrow(new TypeError(message));
  });

  it.each(required)('names %s when it alone is missing', async (missing) => {
    const others = Object.fromEntries(required.filter((key) => key !== missing).map((key) => [key, 1]));
    await calling({ ...others, [missing]: null }).toThrow(
      new TypeError(`${name} needs ${missing}: not given`),
    );
  });
});

describe('a loss by its name', () => {
  const policyLogProbs = ones([2, 3]);
  policyLogProbs.requiresGrad = true;
  const step = { responseMask: ones([2, 3]), gradientAccumulationSteps: 1 };

  it.each<[cs336.LossType, string]>([
    ['no_baseline', 'rawRewards'],
    ['reinforce_with_baseline', 'advantages'],
    ['grpo_clip', 'advantages, oldLogProbs, cliprange'],
  ])('%s needs %s', (lossType, missing) => {
    const message = `with lossType ${lossType} needs ${missing}: not given`;
    expect(() => cs336.computePolicyGradientLoss({ policyLogProbs, lossType })).toThrow(
      new TypeError(`computePolicyGradientLoss ${message}`),
    );
    expect(() => cs336.grpoMicrobatchTrainStep({ ...step, policyLogProbs, lossType })).toThrow(
      new TypeError(`grpoMicrobatchTrainStep ${message}`),
    );
  });

  it('is one of three', () => {
    const lossType = 'ppo' as cs336.LossType;
    expect(() => cs336.computePolicyGradientLoss({ policyLogProbs, lossType })).toThrow(
      'lossType must be one of no_baseline, reinforce_with_baseline, grpo_clip; found ppo',
    );
    expect(() => cs336.grpoMicrobatchTrainStep({ ...step, policyLogProbs } as never)).toThrow(
      'grpoMicrobatchTrainStep needs lossType',
    );
  });
});

describe('shapes', () => {
  const policyLogProbs = ones([2, 2]);

  it('are not broadcast: advantages [B] would fit tokens where B = S', () => {
    const given = { policyLogProbs, oldLogProbs: policyLogProbs, cliprange: 0.2 };
    expect(() => cs336.computeGrpoClipLoss({ ...given, advantages: ones([2]) })).toThrow(
      'computeGrpoClipLoss: advantages must have the shape [2,1], it has [2]',
    );
    expect(() =>
      cs336.computePolicyGradientLoss({ policyLogProbs, lossType: 'no_baseline', rawRewards: ones([1, 2]) }),
    ).toThrow('with lossType no_baseline: rawRewards must have the shape [2,1], it has [1,2]');
    expect(() => cs336.maskedMean({ tensor: policyLogProbs, mask: ones([2]) })).toThrow(
      'maskedMean: mask must have the shape [2,2], it has [2]',
    );
    expect(() =>
      cs336.getResponseLogProbs({ model: {}, inputIds: ones([2]), labels: ones([2]) } as never),
    ).toThrow('getResponseLogProbs: inputIds must be [B, S], it has the shape [2]');
  });

  it('are those of tensors', () => {
    expect(() => cs336.maskedMean({ tensor: policyLogProbs, mask: [1, 1] } as never)).toThrow(
      'maskedMean: mask must be a tensor of @grpo/torch',
    );
    expect(() =>
      cs336.computeNaivePolicyGradientLoss({
        rawRewardsOrAdvantages: ones([2, 1]),
        policyLogProbs: ones([2]),
      }),
    ).toThrow('policyLogProbs must be [B, S], it has the shape [2]');
  });

  it('and a step needs a gradient to add, and a number of steps', () => {
    const responseMask = ones([2, 2]);
    const step = (gradientAccumulationSteps: number) => () =>
      cs336.sftMicrobatchTrainStep({ policyLogProbs, responseMask, gradientAccumulationSteps });
    expect(step(1)).toThrow('policyLogProbs has no gradient; were they computed inside noGrad()?');
    expect(step(0)).toThrow('gradientAccumulationSteps must be a whole number >= 1, found 0');
  });
});
