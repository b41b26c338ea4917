import { type AdamW, tidy } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import { UserError } from '../errors/user-error.js';
import type { Model } from '../models/index.js';
import { scoreTokens } from '../objective/index.js';
import type { Watch } from '../progress/watch.js';
import { eachMicroBatch, type MicroBatch } from '../step/micro-batch.js';
import { openTrainingPass, type PassProgress } from '../step/training-pass.js';
import type { Example } from './examples.js';

/** What an SFT step did. */
export interface SftResult {
  /** Mean negative log-likelihood of a token, in nats. */
  loss: number;
  /** Of the policy's distribution at these tokens, in nats. */
  entropy: number;
  gradNorm: number;
  tokens: number;
}

export interface SftStepOptions {
  learningRate: number;
  maxGradNorm: number;
  microBatchTokens: number;
  /** Whether the backward pass computes the layers again; `none` when left out. */
  recompute?: Config['train']['recompute'];
  /** Bytes that activations may take before `auto` computes them again. */
  activationRoom?: number | undefined;
  /** What the adapters' inputs lose in this step, and the seed of the draw. */
  dropout?: { share: number; seed: number };
  /** May abandon the step before its update. */
  watch?: Watch | undefined;
}

/** One SFT step: mean negative log-likelihood of the completions' tokens, then an update. */
export async function sftStep(
  model: Model,
  optimizer: AdamW,
  examples: readonly Example[],
  options: SftStepOptions,
): Promise<SftResult> {
  const tokens = examples.reduce((sum, { completion }) => sum + completion.length, 0);
  const groups = {
    prompts: examples.map(({ prompt }) => ({ ids: prompt })),
    completions_B: examples.map(({ completion }) => ({ ids: completion })),
  };
  let sum = { loss: 0, entropy: 0 };
  const { share, seed } = options.dropout ?? { share: 0, seed: 0 };
  using _dropout = model.decoder.lora?.dropping(share, seed);
  try {
    const all = [...examples.keys()];
    const add = (micro: MicroBatch, tell: PassProgress) =>
      tidy(() => {
        const { recompute = 'none', activationRoom: room } = options;
        using pass = openTrainingPass(model.decoder, micro.size, { recompute, room, tell });
        const { logprobs_T, entropies_T } = scoreTokens(pass.decoder, micro.groups, 1, {
          onLayer: pass.onLayer,
        });
        const share = logprobs_T.sum().div(-tokens);
        optimizer.accumulate(() => pass.backward(share));
        sum.loss += share.item();
        sum.entropy += entropies_T.sum().item() / tokens;
      });
    const restart = () => {
      optimizer.zeroGrad();
      sum = { loss: 0, entropy: 0 };
    };
    const limits = { tokens: options.microBatchTokens, stage: 'training', watch: options.watch };
    await eachMicroBatch(model.decoder, groups, all, limits, add, restart);
  } catch (error) {
    // Or the next step would begin with half of this one's gradients.
    optimizer.zeroGrad();
    throw error;
  }
  const { gradNorm } = optimizer.step(options.learningRate, options.maxGradNorm);
  if (!Number.isFinite(gradNorm)) {
    throw new UserError(`the gradient is ${gradNorm}; the weights were not changed`, {
      hint: 'A smaller sft.learningRate usually helps',
    });
  }
  return { ...sum, gradNorm, tokens };
}
