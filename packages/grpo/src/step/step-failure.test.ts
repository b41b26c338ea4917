import { describe, expect, it } from 'vitest';
import { UserError } from '../errors/user-error.js';
import { composedLoss, type Loss, type LossInput } from '../objective/index.js';
import { grpoStep } from './grpo-step.js';
import type { Stages } from './stages.js';
import {
  fixtureModel,
  PROBLEMS,
  rewarding,
  spreadRewards,
  trainerOf,
  weightsOf,
} from './step.test.helper.js';

describe('a step that fails', () => {
  /** The standard objective, but for the call `at`, counted from 0. */
  const failing = (at: number, fail: (input: LossInput) => ReturnType<Loss>) => {
    let call = 0;
    return {
      score: spreadRewards,
      objective: (input) => (call++ === at ? fail(input) : composedLoss(input)),
    } satisfies Partial<Stages>;
  };
  const notFinite = (input: LossInput) => {
    const out = composedLoss(input);
    return { ...out, loss: out.loss.mul(Number.NaN) };
  };

  it('for a gradient that is not finite says so, its weights unchanged', async () => {
    const model = fixtureModel('llama3');
    const before = weightsOf(model.decoder);
    const step = grpoStep(trainerOf(model, [], failing(0, notFinite)), PROBLEMS, 6, 0.01);
    await expect(step).rejects.toThrow(UserError);
    await expect(step).rejects.toThrow('step 7: the gradient is NaN. The weights were not changed');
    expect(weightsOf(model.decoder)).toEqual(before);
  });

  it('for a gradient that is not finite says which updates it has made', async () => {
    const model = fixtureModel('llama3');
    const before = weightsOf(model.decoder);
    const settings = ['objective.oldLogprobs=sampler', 'objective.iterations=3'];
    const step = grpoStep(trainerOf(model, settings, failing(2, notFinite)), PROBLEMS, 0, 0.01);
    await expect(step).rejects.toThrow(
      'step 1: the gradient is NaN. The weights are those after its first 2 updates',
    );
    expect(weightsOf(model.decoder)).not.toEqual(before);
  });

  it('for rewards that all have no opinion says so, unless failures are dropped', async () => {
    const stepWith = (rewards: (b: number) => number, settings: string[] = []) => {
      const stages = { score: rewarding(rewards) };
      return grpoStep(trainerOf(fixtureModel('llama3'), settings, stages), PROBLEMS, 6, 0.01);
    };
    await expect(stepWith(() => Number.NaN)).rejects.toThrow(
      /^step 7: none of 16 completions has a reward: \w+ returned null for all$/,
    );
    await stepWith(() => Number.NaN, ['onRewardError=drop']);
    await stepWith((b) => (b === 3 ? 1 : Number.NaN));
  });

  it.each(['float32', 'bfloat16'] as const)(
    'in a later micro-batch leaves no gradients, in %s',
    async (dtype) => {
      const bug = () => {
        throw new Error('a bug of mine');
      };
      const runs = [];
      for (const stages of [failing(2, bug), { score: spreadRewards }]) {
        const model = fixtureModel('llama3', dtype);
        const trainer = trainerOf(model, ['train.microBatchTokens=30'], stages);
        const step = grpoStep(trainer, PROBLEMS, 0, 0.01);
        if ('objective' in stages) {
          await expect(step).rejects.toThrow('a bug of mine');
          await grpoStep(trainer, PROBLEMS, 0, 0.01);
        } else await step;
        runs.push(weightsOf(model.decoder));
      }
      expect(runs[0]).toEqual(runs[1]);
    },
  );
});
