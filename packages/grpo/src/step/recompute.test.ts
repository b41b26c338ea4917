import { AdamW, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sftStep } from '../imitation/sft.js';
import { activationBytes } from '../models/activation-bytes.js';
import { composedLoss, scoreTokens } from '../objective/index.js';
import { grpoStep } from './grpo-step.js';
import type { Stages } from './stages.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf, weightsOf } from './step.test.helper.js';
import { recomputes } from './training-pass.js';

/** The weights after two steps, and which decoders scored with gradients. */
async function trained(settings: readonly string[], own: Partial<Stages> = {}, room?: number) {
  const model = fixtureModel('qwen2');
  const reference = model.decoder.clone();
  onTestFinished(() => reference.dispose());
  const scored = new Set<string>();
  const logprob = own.logprob ?? scoreTokens;
  const stages: Partial<Stages> = {
    score: spreadRewards,
    ...own,
    logprob: (decoder, ...rest) => {
      scored.add(decoder.constructor.name);
      return logprob(decoder, ...rest);
    },
  };
  const given = ['kl.beta=0.1', 'train.microBatchTokens=60', ...settings];
  const trainer = { ...trainerOf(model, given, stages, reference), ...(room && { activationRoom: room }) };
  const losses: number[] = [];
  for (const step of [0, 1]) losses.push((await grpoStep(trainer, PROBLEMS, step, 1e-2)).loss);
  return { losses, weights: weightsOf(model.decoder), scored };
}

describe('a GRPO step that recomputes layers', () => {
  it.each<[string, string[], Partial<Stages>]>([
    ['a KL over the vocabulary', ['kl.estimator=full'], {}],
    [
      'an entropy bonus and old log-probs',
      ['entropy.coefficient=0.1', 'objective.oldLogprobs=recompute'],
      {},
    ],
    [
      'stages of one’s own, which free what they do not return',
      [],
      {
        logprob: (decoder, groups, temperature) =>
          tidy(() => {
            const { logprobs_T, entropies_T } = scoreTokens(decoder, groups, temperature);
            return { logprobs_T: logprobs_T.mul(0.5), entropies_T };
          }),
        objective: (input) => {
          const made = composedLoss(input);
          return { ...made, loss: made.loss.mul(2) };
        },
      },
    ],
  ])('trains as without, with %s', async (_, settings, own) => {
    const kept = await trained(settings, own);
    const again = await trained([...settings, 'train.recompute=layers'], own);
    expect(again.losses).toEqual(kept.losses);
    expect(again.weights).toEqual(kept.weights);
    expect(kept.scored).toEqual(new Set(['OwningDecoder']));
    expect(again.scored).toContain('RecomputingDecoder');
  });

  it('does so by itself where activations do not fit', async () => {
    const kept = await trained([], {}, 2 ** 30);
    const again = await trained([], {}, 2 ** 10);
    expect(kept.scored).not.toContain('RecomputingDecoder');
    expect(again.scored).toContain('RecomputingDecoder');
    expect(again.weights).toEqual(kept.weights);
  });
});

describe('an SFT step', () => {
  it('trains as without', async () => {
    const stepped = async (recompute: 'none' | 'layers') => {
      const model = fixtureModel('llama3', 'bfloat16');
      const options = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 };
      const optimizer = new AdamW(model.decoder.parameters, options);
      onTestFinished(() => optimizer.dispose());
      const examples = [10, 30].map((from) => ({ prompt: [1, from, 3], completion: [from + 1, 5, 6, 7] }));
      const step = { learningRate: 0.01, maxGradNorm: 1, microBatchTokens: 8, recompute };
      const { loss } = await sftStep(model, optimizer, examples, step);
      return { loss, weights: weightsOf(model.decoder) };
    };
    expect(await stepped('layers')).toEqual(await stepped('none'));
  });
});

it('auto recomputes from the first token on that does not fit', () => {
  const { decoder } = fixtureModel('qwen2');
  const room = activationBytes(decoder.config, 100, { size: 4, recompute: false });
  expect(recomputes('auto', decoder, 100, room)).toBe(false);
  expect(recomputes('auto', decoder, 101, room)).toBe(true);
  expect(recomputes('none', decoder, 101, room)).toBe(false);
  expect(recomputes('layers', decoder, 1, room)).toBe(true);
});
