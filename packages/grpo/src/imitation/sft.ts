import { type AdamW, tidy } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import { UserError } from '../errors/user-error.js';
import type { Model } from '../models/index.js';
import { scoreTokens } from '../objective/index.js';
import type { Watch } from '../progress/watch.js';
import { eachMicroBatch, type Groups, type MicroBatch } from '../step/micro-batch.js';
import type { UpdateResult } from '../step/observer.js';
import { openTrainingPass, type PassProgress } from '../step/training-pass.js';
import type { Example } from './examples.js';
import { hideExamples } from './hide-examples.js';

/** What an SFT step did. */
export interface SftResult {
  /** Mean negative log-likelihood of a token, in nats; of a masked-diffusion model an estimate of a bound above it. */
  loss: number;
  /** Of the policy's distribution at these tokens, or at those of them that were hidden, in nats. */
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
  /** What the adapters' inputs lose in this step. */
  dropout?: number;
  /** Places of a completion of a masked-diffusion model, see {@link hideExamples}. */
  width?: number;
  /** Draws what is dropped and what is hidden. */
  seed?: number;
  /** May abandon the step before its update. */
  watch?: Watch | undefined;
  /** Watches the update and changes nothing of it. */
  observer?: { beforeUpdate(): void; updated(result: UpdateResult): void } | undefined;
}

/**
 * One SFT step: mean negative log-likelihood of the completions' tokens, then an update. A masked-diffusion model learns
 * all tokens of the region, see {@link hideExamples}.
 */
export async function sftStep(
  model: Model,
  optimizer: AdamW,
  examples: readonly Example[],
  options: SftStepOptions,
): Promise<SftResult> {
  const { learningRate, maxGradNorm, observer } = options;
  const learnt = await learnExamples(model, optimizer, examples, options);
  observer?.beforeUpdate();
  const { gradNorm, gradNorms } = optimizer.step(learningRate, maxGradNorm);
  if (!Number.isFinite(gradNorm)) {
    throw new UserError(`the gradient is ${gradNorm}; the weights were not changed`, {
      hint: 'A smaller sft.learningRate usually helps',
    });
  }
  observer?.updated({ learningRate, loss: learnt.loss, gradNorm, gradNorms });
  return { ...learnt, gradNorm };
}

/** The part of an SFT step before its update: leaves the gradients of the examples in the optimizer. */
export async function learnExamples(
  model: Model,
  optimizer: AdamW,
  examples: readonly Example[],
  options: Omit<SftStepOptions, 'learningRate' | 'maxGradNorm' | 'observer'>,
): Promise<Omit<SftResult, 'gradNorm'>> {
  const { width = 0, seed = 0, dropout = 0 } = options;
  const { groups, learnt, tokens, scored } = model.decoder.config.diffusion
    ? hiddenGroups(model, examples, { width, seed })
    : openGroups(examples);
  let sum = { loss: 0, entropy: 0 };
  using _dropout = model.decoder.lora?.dropping(dropout, seed);
  try {
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
        sum.entropy += entropies_T.sum().item() / scored;
      });
    const restart = () => {
      optimizer.zeroGrad();
      sum = { loss: 0, entropy: 0 };
    };
    const limits = { tokens: options.microBatchTokens, stage: 'training', watch: options.watch };
    await eachMicroBatch(model.decoder, groups, learnt, limits, add, restart);
  } catch (error) {
    // Or the next step would begin with half of this one's gradients.
    optimizer.zeroGrad();
    throw error;
  }
  return { ...sum, tokens };
}

/** What a step computes, and the tokens by which it is normalized. */
interface Lesson {
  groups: Groups;
  /** The examples that have anything to learn from. */
  learnt: number[];
  /** Of all completions. */
  tokens: number;
  /** Of these, those that have a log-prob. */
  scored: number;
}

function openGroups(examples: readonly Example[]): Lesson {
  const tokens = examples.reduce((sum, { completion }) => sum + completion.length, 0);
  const groups = {
    prompts: examples.map(({ prompt }) => ({ ids: prompt })),
    completions_B: examples.map(({ completion }) => ({ ids: completion })),
  };
  return { groups, learnt: [...examples.keys()], tokens, scored: tokens };
}

function hiddenGroups(
  { decoder, endIds }: Model,
  examples: readonly Example[],
  draws: { width: number; seed: number },
): Lesson {
  const [endId] = endIds;
  const { maxPositions } = decoder.config;
  const masked_B = hideExamples(examples, { ...draws, endId: endId!, maxPositions });
  const groups = {
    prompts: examples.map(({ prompt }) => ({ ids: prompt })),
    completions_B: masked_B.map(({ region }) => ({ ids: region })),
    masked_B,
  };
  const hidden = masked_B.map(({ plan }) => plan[0]!.region.reduce((sum, is) => sum + is, 0));
  return {
    groups,
    // At a small share an example may hide nothing: its loss is 0.
    learnt: [...examples.keys()].filter((i) => hidden[i]! > 0),
    tokens: masked_B.reduce((sum, { region }) => sum + region.length, 0),
    scored: Math.max(
      1,
      hidden.reduce((sum, count) => sum + count, 0),
    ),
  };
}
