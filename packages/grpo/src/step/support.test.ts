/** Where top-k, top-p or min-p restrict sampling, log-probs are those over the ids that sampling kept. */
import type { Tensor } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import type { Model } from '../models/index.js';
import type { Completion } from '../rollout/index.js';
import { grpoStep } from './grpo-step.js';
import type { StepObserver } from './observer.js';
import { ReplayStore } from './replay-store.js';
import type { Stages } from './stages.js';
import {
  expectSlopes,
  fixtureModel,
  flatWhere,
  intoGradients,
  neighbour,
  PROBLEMS,
  relativeError,
  spreadRewards,
  trainerOf,
  wide,
} from './step.test.helper.js';
import type { Trainer } from './trainer.js';

const TRUNCATIONS: readonly (readonly string[])[] = [
  ['rollout.topP=0.8'],
  ['rollout.topK=20'],
  ['rollout.minP=0.1'],
  ['rollout.temperature=0.7', 'rollout.topK=30', 'rollout.topP=0.9', 'rollout.minP=0.02'],
];

/** Rounding of plain sampling in float32 stays below it. */
const FLOAT32 = 2e-5;

const numbers = (values: Tensor | null | undefined) => values?.detach().toNumbers() ?? [];

/** Largest distances over all micro-batches of the first update: sampler to policy, ratio to 1, and KL to 0. */
class Distances implements StepObserver {
  gap = 0;
  ratio = 0;
  kl = 0;
  updates = 0;

  updateBegins(): void {
    this.updates++;
  }

  microBatchDone({ input, output }: Parameters<NonNullable<StepObserver['microBatchDone']>>[0]): void {
    if (this.updates > 1) return;
    const most = (values: number[]) => Math.max(0, ...values.map(Math.abs));
    const sampler = numbers(input.samplerLogprobs_T);
    const policy = numbers(input.logprobs_T);
    this.gap = Math.max(this.gap, most(policy.map((own, t) => own - sampler[t]!)));
    this.ratio = Math.max(this.ratio, most(numbers(output.terms?.ratio_T).map((ratio) => ratio - 1)));
    this.kl = Math.max(this.kl, most(numbers(output.terms?.kl_T)));
  }
}

async function distancesOf(settings: readonly string[]): Promise<Distances> {
  const model = fixtureModel('llama3');
  const reference = model.decoder.clone();
  const distances = new Distances();
  const given = ['kl.beta=0.1', ...settings];
  const trainer = trainerOf(model, given, { score: spreadRewards }, reference);
  await grpoStep({ ...trainer, observers: [distances] }, PROBLEMS, 0, 1e-3);
  reference.dispose();
  return distances;
}

describe('a step in float32 that truncates', () => {
  it.each(TRUNCATIONS.map((cut) => [cut] as const))(
    'has the sampler’s log-probs, ratios of 1 and a KL of 0: %j',
    async (cut) => {
      for (const old of ['sampler', 'recompute', 'detach']) {
        const { gap, ratio, kl } = await distancesOf([...cut, `objective.oldLogprobs=${old}`]);
        expect(gap).toBeLessThan(FLOAT32);
        expect(ratio).toBeLessThan(FLOAT32);
        expect(kl).toBeLessThan(FLOAT32);
      }
    },
  );

  it.each(TRUNCATIONS.map((cut) => [cut] as const))(
    'draws from elsewhere where the support is not kept: %j',
    async (cut) => {
      const model = fixtureModel('llama3');
      const trainer = trainerOf(model, [...cut, 'rollout.keepSupport=false'], { score: spreadRewards });
      const { batch } = await grpoStep(trainer, PROBLEMS, 0, 0);
      const apart = batch.completions_B.flatMap(({ logprobs, sampledLogprobs }) =>
        [...logprobs].map((value, t) => sampledLogprobs[t]! - value),
      );
      expect(batch.completions_B.some(({ support }) => support)).toBe(false);
      expect(Math.max(...apart)).toBeGreaterThan(0.05);
    },
  );

  it('changes nothing where the whole vocabulary can be drawn', async () => {
    const weights = async (settings: readonly string[]) => {
      const model = fixtureModel('qwen2');
      const trainer = trainerOf(model, settings, { score: spreadRewards });
      const sampling = { ...trainer.sampling, keepSupport: settings.length > 0 };
      for (const step of [0, 1]) await grpoStep({ ...trainer, sampling }, PROBLEMS, step, 1e-2);
      return [...model.decoder.parameters.values()].map((p) => Buffer.from(p.toBytes()).toString('base64'));
    };
    expect(await weights(['seed=0'])).toEqual(await weights([]));
  });
});

/** Completions as a policy near the model's drew them: ratios lie on both sides of the clip. */
async function drawnBy(model: Model, settings: readonly string[]): Promise<Completion[][]> {
  const trainer = trainerOf(model, settings, { score: spreadRewards }, model.decoder);
  const { batch } = await grpoStep(trainer, PROBLEMS, 0, 0);
  return PROBLEMS.map((_, p) =>
    batch.membersOf(p).map((b, g) => ({
      ...batch.completions_B[b]!,
      sampledLogprobs: batch.completions_B[b]!.sampledLogprobs.map(
        (value, t) => value + 0.3 * Math.sin(5 * p + 3 * g + t),
      ),
    })),
  );
}

/** Loss and gradients of a step, of fixed completions. */
async function gradientsOf(
  model: Model,
  settings: readonly string[],
  stages: Partial<Stages>,
  trainer?: Partial<Trainer>,
) {
  let gradients = new Map<string, Float32Array>();
  const update = intoGradients(model, (found) => {
    gradients = found;
  });
  const made = { ...trainerOf(model, settings, { ...stages, update }), ...trainer };
  const { loss } = await grpoStep(made, PROBLEMS, 0, 0);
  return { loss, gradients };
}

describe('the gradient of a step over the support', () => {
  const settings = [
    'rollout.topP=0.8',
    'rollout.topK=30',
    'objective.loss=grpo',
    'objective.oldLogprobs=sampler',
    'kl.beta=0.05',
    'entropy.coefficient=0.01',
    'optimizer.maxGradNorm=0',
  ];

  it('is the slope of the loss', async () => {
    const model = fixtureModel('qwen3');
    const reference = neighbour(model.decoder);
    const completions = await drawnBy(model, settings);
    const stages: Partial<Stages> = { sample: async () => completions, score: spreadRewards };
    const { gradients } = await gradientsOf(model, settings, stages, { reference });
    const wideModel = { ...model, decoder: wide(model.decoder) };
    const trainer = trainerOf(wideModel, settings, { ...stages, update: () => ({ gradNorm: 1 }) }, reference);
    await expectSlopes(trainer, gradients, 1e-3);
  });

  it('is the same however the completions are put together', async () => {
    const model = fixtureModel('llama3');
    const reference = neighbour(model.decoder);
    const completions = await drawnBy(model, settings);
    const stages: Partial<Stages> = { sample: async () => completions, score: spreadRewards };
    const of = (budget: number) =>
      gradientsOf(model, [...settings, `train.microBatchTokens=${budget}`], stages, { reference });
    const whole = await of(100_000);
    for (const budget of [1, 30, 60]) {
      const { loss, gradients } = await of(budget);
      expect(loss).toBeCloseTo(whole.loss, 6);
      expect(relativeError(gradients, whole.gradients), `budget ${budget}`).toBeLessThan(1e-5);
    }
  });
});

it('minibatches take the supports of their own completions', async () => {
  const { gap, ratio } = await distancesOf([
    'rollout.topP=0.8',
    'objective.minibatches=2',
    'objective.iterations=2',
    'objective.oldLogprobs=recompute',
    'train.microBatchTokens=30',
  ]);
  expect(gap).toBeLessThan(FLOAT32);
  expect(ratio).toBeLessThan(FLOAT32);
});

it('a replayed group is scored over the support that its own step kept', async () => {
  const model = fixtureModel('llama3');
  const settings = ['rollout.topP=0.7', 'groups.replay=4', 'objective.oldLogprobs=sampler'];
  const isFlat = [() => false, (p: number) => p % 2 === 0];
  const replay = new ReplayStore(4);
  const distances = new Distances();
  for (const step of [0, 1]) {
    const trainer = trainerOf(model, settings, { score: flatWhere(isFlat[step]!) });
    // The weights stay: what an earlier step sampled has a ratio of 1, too.
    const stages = { ...trainer.stages, update: () => ({ gradNorm: 1 }) };
    const { batch } = await grpoStep(
      { ...trainer, stages, replay, observers: [distances] },
      PROBLEMS,
      step,
      0,
    );
    expect(batch.exchange?.replayed.size ?? 0).toBe(step === 0 ? 0 : 2);
    for (const { ids, support } of batch.completions_B) expect(support?.length).toBe(ids.length);
  }
  expect(distances.ratio).toBeLessThan(FLOAT32);
});
