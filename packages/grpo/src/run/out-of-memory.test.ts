import { AdamW, memory } from '@grpo/torch';
import { describe, expect, it, vi } from 'vitest';
import type { UserError } from '../errors/user-error.js';
import { sftStep } from '../imitation/sft.js';
import type { Model } from '../models/index.js';
import { recordStep } from '../observe/record-step.js';
import { memoryNews } from '../rollout/index.js';
import type { Stages } from '../step/stages.js';
import {
  fixtureModel,
  intoGradients,
  madeUpCompletions,
  PROBLEMS,
  relativeError,
  spreadRewards,
  trainerOf,
} from '../step/step.test.helper.js';
import { exhaust, failingLogprob } from './out-of-memory.test.helper.js';

const LENGTHS = [
  [3, 9, 5, 1],
  [2, 2, 8, 4],
  [6, 1, 1, 7],
  [5, 5, 5, 5],
];

const SETTINGS = ['train.microBatchTokens=24', 'objective.oldLogprobs=sampler', 'rollout.temperature=1'];

/** A step that ends with its gradients. */
async function gradientsOf(model: Model, settings: string[], logprob: Partial<Stages> = {}) {
  let gradients = new Map<string, Float32Array>();
  const stages = {
    sample: async () => madeUpCompletions(LENGTHS, model.decoder.config.vocabSize),
    score: spreadRewards,
    update: intoGradients(model, (found) => {
      gradients = found;
    }),
    ...logprob,
  };
  const trainer = trainerOf(model, settings, stages);
  const before = memory();
  const step = await recordStep(trainer, PROBLEMS, 0, 0);
  expect(memory()).toEqual(before);
  return { step, gradients };
}

describe.each(['forward', 'backward'] as const)('a %s pass that runs out of memory', (pass) => {
  it.each([1, 3])(
    'at call %d is done again in halves: same gradient, same metrics, nothing leaks',
    async (call) => {
      const plain = failingLogprob(pass, () => false);
      const expected = await gradientsOf(fixtureModel('qwen3'), SETTINGS, plain);
      const model = fixtureModel('qwen3');
      const failing = failingLogprob(pass, (n) => n === call);
      const { step, gradients } = await gradientsOf(model, SETTINGS, failing);
      expect(relativeError(gradients, expected.gradients)).toBeLessThan(1e-5);
      expect(step.loss).toBeCloseTo(expected.step.loss, 6);
      expect(step.metrics.entropy).toBeCloseTo(expected.step.metrics.entropy!, 5);
      const gap = 'sampling/sampling_logp_difference/mean';
      expect(step.metrics[gap]).toBeCloseTo(expected.step.metrics[gap]!, 5);
      const { completions, microBatches } = step.updates[0]!;
      expect([...completions!]).toEqual([...expected.step.updates[0]!.completions!]);
      expect(microBatches!.executed).toBe(failing.calls() - call);
      expect(microBatches!.executed).toBeGreaterThan(plain.calls());
      expect(memoryNews(model.decoder)).toEqual([
        expect.stringMatching(/^memory ran out with \d+ tokens at once; from now on \d+\./),
      ]);
      expect(memoryNews(model.decoder)).toEqual([]);
    },
  );

  it('twice ends the step and says which setting to change; no gradient and nothing else stays', async () => {
    const model = fixtureModel('qwen3');
    const failing = failingLogprob(pass, (n) => n <= 2);
    const stages = {
      sample: async () => madeUpCompletions(LENGTHS, model.decoder.config.vocabSize),
      score: spreadRewards,
      logprob: failing.logprob,
    };
    const trainer = trainerOf(model, ['train.microBatchTokens=120', ...SETTINGS.slice(1)], stages);
    const before = memory();
    const error = await recordStep(trainer, PROBLEMS, 0, 0).catch((e: UserError) => e);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^out of memory: half of a lot, \d+ tokens, does not fit$/),
      hint: expect.stringMatching(/^Lower train.microBatchTokens, which allows 120 tokens; dtype=bfloat16/),
    });
    expect(memory()).toEqual(before);
    expect(trainer.optimizer.gradients.size).toBe(0);
    for (const parameter of model.decoder.parameters.values()) expect(parameter.grad).toBeNull();
  });

  it('of a single completion cannot be halved', async () => {
    const model = fixtureModel('qwen3');
    const { logprob } = failingLogprob(pass, () => true);
    const settings = ['train.microBatchTokens=1', ...SETTINGS.slice(1)];
    await expect(gradientsOf(model, settings, { logprob })).rejects.toMatchObject({
      message: 'out of memory: a single completion does not fit',
      hint: expect.stringContaining('rollout.maxNewTokens'),
    });
  });

  it('in one step leaves the smaller size to the next', async () => {
    const model = fixtureModel('qwen3');
    const failing = failingLogprob(pass, (n) => n === 1);
    await gradientsOf(model, SETTINGS, failing);
    const first = failing.calls();
    await gradientsOf(model, SETTINGS, failing);
    expect(failing.calls() - first).toBe(first - 1);
  });
});

it('old log-probs are scored again in halves', async () => {
  const settings = [...SETTINGS, 'objective.oldLogprobs=recompute'];
  const oldOf = async (fails: (n: number) => boolean) => {
    const { logprob } = failingLogprob('forward', fails);
    return (await gradientsOf(fixtureModel('llama3'), settings, { logprob })).step.batch.old_B!;
  };
  const [expected, found] = [await oldOf(() => false), await oldOf((n) => n === 2)];
  expect(found.map(({ length }) => length)).toEqual(LENGTHS.flat());
  for (const [b, values] of found.entries())
    for (const [t, value] of values.entries()) expect(value).toBeCloseTo(expected[b]![t]!, 5);
});

it('SFT is done again in halves', async () => {
  const examples = LENGTHS.flat().map((length, i) => ({
    prompt: [1, 2, 3 + i],
    completion: Array.from({ length }, (_, t) => 5 + t),
  }));
  const stepOf = async (fails: (call: number) => boolean) => {
    const model = fixtureModel('qwen3');
    const options = { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0 };
    const optimizer = new AdamW(model.decoder.parameters, options);
    const { hidden } = model.decoder;
    let calls = 0;
    vi.spyOn(model.decoder, 'hidden').mockImplementation((...args) =>
      fails(++calls) ? exhaust() : hidden.apply(model.decoder, args),
    );
    const before = memory();
    const result = await sftStep(model, optimizer, examples, {
      learningRate: 0,
      maxGradNorm: 0,
      microBatchTokens: 40,
    });
    expect(memory()).toEqual(before);
    optimizer.dispose();
    return { ...result, calls };
  };
  const [expected, found] = [await stepOf(() => false), await stepOf((call) => call === 2)];
  expect(found.calls).toBeGreaterThan(expected.calls);
  expect(found.loss).toBeCloseTo(expected.loss, 6);
  expect(found.entropy).toBeCloseTo(expected.entropy, 6);
  expect(found.gradNorm / expected.gradNorm).toBeCloseTo(1, 5);
});
