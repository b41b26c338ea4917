import { noGrad, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LossName } from '../config/loss-names.js';
import { uniform } from '../maths/random.js';
import type { Decoder, Model } from '../models/index.js';
import { scoreTokens } from '../objective/index.js';
import type { Completion } from '../rollout/index.js';
import { grpoStep } from './grpo-step.js';
import {
  fixtureModel,
  intoGradients,
  madeUpCompletions,
  PROBLEMS,
  relativeError,
  spreadRewards,
  trainerOf,
} from './step.test.helper.js';

const LENGTHS = [
  [5, 1, 12, 3],
  [2, 2, 9, 30],
  [1, 1, 7, 4],
  [60, 40, 1, 3],
];
const ALWAYS = ['kl.beta=0.05', 'entropy.coefficient=0.01', 'objective.maskTruncated=true'];
const OFF_POLICY = ['objective.oldLogprobs=sampler'];
/** Ratios of 1, and the gap to the sampler corrected. */
const CORRECTED = ['objective.oldLogprobs=recompute', 'correction.level=token', 'correction.max=1.1'];

/** Made-up completions, as if sampled by a policy near the model's; some were cut off. */
function completionsOf({ decoder, tokenizer }: Model): Completion[][] {
  const groups = madeUpCompletions(LENGTHS, decoder.config.vocabSize);
  for (const [p, completions] of groups.entries()) {
    const prompt = tokenizer.encode(PROBLEMS[p]!.prompt as string);
    for (const [g, completion] of completions.entries()) {
      const scored = { prompt, completions: [completion.ids] };
      const own = noGrad(() => tidy(() => scoreTokens(decoder, [scored], 1).logprobs_T.toNumbers()));
      completion.logprobs = Float32Array.from(own, (x, t) => x + 0.6 * (uniform(3, 4 * p + g, t) - 0.5));
      if ((p + g) % 5 === 0) completion.finishReason = 'length';
    }
  }
  return groups;
}

/** A second decoder, a little away from the first. */
function neighbour(decoder: Decoder): Decoder {
  const copy = decoder.clone();
  onTestFinished(() => copy.dispose());
  noGrad(() => {
    for (const parameter of copy.parameters.values()) tidy(() => parameter.mul_(1.02));
  });
  return copy;
}

async function stepGradients(model: Model, reference: Decoder, settings: string[]) {
  let gradients = new Map<string, Float32Array>();
  const completions = completionsOf(model);
  const stages = {
    sample: async () => completions,
    score: spreadRewards,
    update: intoGradients(model, (found) => {
      gradients = found;
    }),
  };
  const { loss } = await grpoStep(trainerOf(model, settings, stages, reference), PROBLEMS, 0, 0);
  return { loss, gradients };
}

/** How far loss and gradient are from those of a single micro-batch: one completion at a time, and some together. */
async function errorsOf(name: LossName, settings: readonly string[]) {
  const model = fixtureModel('llama3');
  const reference = neighbour(model.decoder);
  const of = (budget: number) =>
    stepGradients(model, reference, [
      ...ALWAYS,
      `objective.loss=${name}`,
      `train.microBatchTokens=${budget}`,
      ...settings,
    ]);
  const whole = await of(100_000);
  const parts = [await of(1), await of(60)];
  return {
    losses: parts.map(({ loss }) => Math.abs(loss - whole.loss) / Math.max(1, Math.abs(whole.loss))),
    gradients: parts.map(({ gradients }) => relativeError(gradients, whole.gradients)),
  };
}

describe('loss and gradient of a step with KL, entropy bonus and masks', () => {
  it.each([
    ['grpo', OFF_POLICY],
    ['grpo', CORRECTED],
    ['dapo', OFF_POLICY],
    ['dr_grpo', CORRECTED],
    ['cispo', OFF_POLICY],
    ['sapo', OFF_POLICY],
    ['vespo', OFF_POLICY],
    ['luspo', OFF_POLICY],
    ['gspo_token', OFF_POLICY],
    ['gmpo', OFF_POLICY],
    ['reinforce_sum', []],
  ] as const)('%s: are the same in micro-batches of any size, %j', async (name, settings) => {
    const { losses, gradients } = await errorsOf(name, settings);
    expect(Math.max(...losses)).toBeLessThan(1e-5);
    expect(Math.max(...gradients)).toBeLessThan(1e-5);
  });

  it.each([
    ['bnpo', OFF_POLICY],
    ['dapo', [...OFF_POLICY, 'entropy.topShare=0.5']],
    ['dapo', [...OFF_POLICY, 'objective.compat=trl', 'entropy.coefficient=0.5']],
  ] as const)('%s: are others, being defined by the micro-batch, %j', async (name, settings) => {
    const { gradients } = await errorsOf(name, settings);
    expect(Math.min(...gradients)).toBeGreaterThan(1e-3);
  });
});
