import { noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { uniform } from '../maths/random.js';
import { type Decoder, type Model, packSegments } from '../models/index.js';
import type { Completion } from '../rollout/index.js';
import { grpoStep } from './grpo-step.js';
import type { Stages } from './stages.js';
import {
  expectSlopes,
  fixtureModel,
  intoGradients,
  madeUpCompletions,
  neighbour,
  PROBLEMS,
  relativeError,
  trainerOf,
  wide,
} from './step.test.helper.js';

const TEMPERATURE = 0.8;
const CLIP = { low: 0.1, high: 0.2 };
const LENGTHS = [
  [5, 1, 12, 3],
  [2, 2, 9, 30],
  [1, 1, 7, 4],
  [110, 40, 1, 3],
];
const ADVANTAGES = LENGTHS.flat().map((_, b) => Math.sin(2 * b + 1));

/** Every kind of case: clipped and unclipped ratios, and advantages of both signs. */
const shift = (b: number, t: number) => 0.5 * (uniform(3, b, t) - 0.5);

const promptsOf = ({ tokenizer }: Model) => PROBLEMS.map(({ prompt }) => tokenizer.encode(prompt as string));

/** The made-up completions, as if sampled by a policy near the model's. */
function completionsOf(model: Model): Completion[][] {
  const groups = madeUpCompletions(LENGTHS, model.decoder.config.vocabSize);
  for (const [p, prompt] of promptsOf(model).entries()) {
    for (const [g, completion] of groups[p]!.entries()) {
      const own = noGrad(() =>
        tidy(() => plainLogprobs(model.decoder, prompt, completion.ids).toTypedArray() as Float32Array),
      );
      completion.logprobs = own.map((value, t) => value + shift(4 * p + g, t));
    }
  }
  return groups;
}

/** log π of a completion's tokens, from one sequence of prompt and completion and all of its logits. */
function plainLogprobs(decoder: Decoder, prompt: readonly number[], completion: readonly number[]): Tensor {
  const packed = packSegments([{ ids: [...prompt, ...completion] }], decoder.config, decoder.device);
  const logits = decoder.logits(decoder.hidden(packed, packed.attend)).div(TEMPERATURE);
  const rows = logits.narrow(0, prompt.length - 1, completion.length).logSoftmax(-1);
  return rows.gather(1, tensor([...completion], [completion.length, 1], { dtype: 'int64' })).squeeze(1);
}

function fixedStages(completions: Completion[][]): Partial<Stages> {
  return {
    sample: async () => completions,
    score: async () => ({ names: [], weights: [], columns: [], unscored: new Uint8Array(16), failures: [] }),
    advantage: () => ({
      advantages: Float64Array.from(ADVANTAGES),
      means: new Float64Array(4),
      deviations: new Float64Array(4),
      zeroVariance: 0,
      dropped: [],
    }),
  };
}

const settingsOf = (loss: string, beta: number, microBatchTokens: number) => [
  `objective.loss=${loss}`,
  `kl.beta=${beta}`,
  `objective.clipLow=${CLIP.low}`,
  `objective.clipHigh=${CLIP.high}`,
  'objective.oldLogprobs=sampler',
  `rollout.temperature=${TEMPERATURE}`,
  `train.microBatchTokens=${microBatchTokens}`,
];

/** Loss and gradients of a whole step. */
async function stepGradients(model: Model, reference: Decoder, settings: string[]) {
  let gradients = new Map<string, Float32Array>();
  const stages = {
    ...fixedStages(completionsOf(model)),
    update: intoGradients(model, (found) => {
      gradients = found;
    }),
  };
  const { loss } = await grpoStep(trainerOf(model, settings, stages, reference), PROBLEMS, 0, 0);
  return { loss, gradients };
}

/** The same by the book: one completion after another, the objective written out. */
function plainGradients(model: Model, reference: Decoder, loss: string, beta: number) {
  const prompts = promptsOf(model);
  const tokens = LENGTHS.flat().reduce((a, b) => a + b, 0);
  let total = 0;
  for (const [b, { ids, logprobs }] of completionsOf(model).flat().entries()) {
    const prompt = prompts[Math.floor(b / 4)]!;
    const advantage = ADVANTAGES[b]!;
    const ref = noGrad(() => plainLogprobs(reference, prompt, ids));
    const policy = plainLogprobs(model.decoder, prompt, ids);
    const ratio = policy.sub(tensor(logprobs)).exp();
    const clipped = ratio.clamp(1 - CLIP.low, 1 + CLIP.high);
    const gain = ratio.mul(advantage).minimum(clipped.mul(advantage));
    const difference = ref.sub(policy);
    const kl = difference.exp().sub(difference).sub(1);
    const sum = kl.mul(beta).sub(gain).sum();
    const share = loss === 'grpo' ? sum.div(16 * ids.length) : sum.div(tokens);
    share.backward();
    total += share.item();
  }
  const gradients = [...model.decoder.parameters].map(
    ([name, parameter]) => [name, parameter.grad!.toTypedArray() as Float32Array] as const,
  );
  return { loss: total, gradients: new Map(gradients) };
}

describe.each([
  ['grpo', 0],
  ['grpo', 0.05],
  ['dapo', 0],
  ['dapo', 0.05],
])('the gradient of a step, loss %s, beta %d', (loss, beta) => {
  it('is that of the objective written out, however the completions are put together', async () => {
    const model = fixtureModel('llama3');
    const reference = neighbour(model.decoder);
    const expected = plainGradients(fixtureModel('llama3'), reference, loss, beta);
    // One completion at a time, some together, all at once.
    for (const budget of [1, 40, 150, 100_000]) {
      const { loss: found, gradients } = await stepGradients(
        model,
        reference,
        settingsOf(loss, beta, budget),
      );
      expect(found).toBeCloseTo(expected.loss, 5);
      expect(relativeError(gradients, expected.gradients), `budget ${budget}`).toBeLessThan(1e-5);
    }
  });
});

describe.each([['gpt2'], ['qwen3']])('the gradient of a step of %s', (name) => {
  it('is the slope of the loss', async () => {
    const model = fixtureModel(name);
    const reference = neighbour(model.decoder);
    const settings = settingsOf('grpo', 0.05, 200);
    const { gradients } = await stepGradients(model, reference, settings);
    const completions = completionsOf(model);

    const decoder = wide(model.decoder);
    const wideModel = { ...model, decoder };
    const stages = { ...fixedStages(completions), update: () => ({ gradNorm: 1 }) };
    const trainer = trainerOf(wideModel, settings, stages, reference);
    await expectSlopes(trainer, gradients, 1e-3);
  });
});
