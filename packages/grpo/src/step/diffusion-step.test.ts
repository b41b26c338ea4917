import { noGrad, type Tensor, tensor } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { ESTIMATORS, type Estimator } from '../config/choices.js';
import { uniform } from '../maths/random.js';
import { type Decoder, type Model, packSegments } from '../models/index.js';
import { type MaskPlan, planMasks, scoreTokens } from '../objective/index.js';
import type { Completion } from '../rollout/index.js';
import { grpoStep } from './grpo-step.js';
import type { StepObserver } from './observer.js';
import type { Stages } from './stages.js';
import {
  expectSlopes,
  fixtureModel,
  intoGradients,
  neighbour,
  PROBLEMS,
  relativeError,
  trainerOf,
  wide,
} from './step.test.helper.js';

const TEMPERATURE = 0.8;
const CLIP = 0.1;
const BETA = 0.05;
const WIDTH = 7;
const MASK = 258;
const LENGTHS = [7, 2, 1, 7, 3, 5, 7, 4, 1, 1, 2, 6, 7, 7, 3, 2];
const ADVANTAGES = LENGTHS.map((_, b) => Math.sin(2 * b + 1));

/** How far the old log-probs are from the policy's: every kind of case, clipped and unclipped. */
const shift = (b: number, t: number) => 0.5 * (uniform(3, b, t) - 0.5);

/** A fixture model that attends both ways. */
function diffusionModel(shifted = false): Model {
  const model = fixtureModel('qwen2');
  model.decoder.config.diffusion = { maskId: MASK, shifted };
  return model;
}

/** Completions of these lengths, with tokens after their ends. */
function filled(): Completion[][] {
  const all = LENGTHS.map((length, b): Completion => {
    const region = Array.from({ length: WIDTH }, (_, w) => Math.floor(250 * uniform(1, b, w)));
    return {
      ids: region.slice(0, length),
      text: '',
      finishReason: 'stop',
      logprobs: new Float32Array(length),
      sampledLogprobs: new Float32Array(length),
      region: { ids: region, order: region.map((_, w) => w) },
    };
  });
  return [0, 4, 8, 12].map((from) => all.slice(from, from + 4));
}

/** Stages with fixed completions and advantages; `plans` takes the plans of each iteration. */
function fixedStages(plans: MaskPlan[][] = []): Partial<Stages> {
  return {
    sample: async () => filled(),
    score: async () => ({ names: [], weights: [], columns: [], unscored: new Uint8Array(16), failures: [] }),
    advantage: () => ({
      advantages: Float64Array.from(ADVANTAGES),
      means: new Float64Array(4),
      deviations: new Float64Array(4),
      zeroVariance: 0,
      dropped: [],
    }),
    plan: (...input) => {
      plans.push(planMasks(...input));
      return plans.at(-1)!;
    },
  };
}

/** Scores as the standard stage, but that of the old policy, which is moved by `shift`. */
const shiftingOld =
  (model: Model): Stages['logprob'] =>
  (decoder, groups, ...rest) => {
    const scores = scoreTokens(decoder, groups, ...rest);
    if (decoder !== model.decoder || scores.logprobs_T.requiresGrad) return scores;
    const shifts = groups.flatMap(({ completions }) =>
      completions.flatMap((ids) => ids.map((_, t) => shift(numberOf(ids), t))),
    );
    return { ...scores, logprobs_T: scores.logprobs_T.add(tensor(shifts)) };
  };

const all = filled().flat();
const numberOf = (ids: readonly number[]) =>
  all.findIndex((one) => one.ids.length === ids.length && one.ids.every((id, t) => id === ids[t]));

const settingsOf = (estimator: Estimator, ...settings: string[]) => [
  `diffusion.estimator=${estimator}`,
  `kl.beta=${BETA}`,
  `rollout.temperature=${TEMPERATURE}`,
  `rollout.maxNewTokens=${WIDTH}`,
  ...settings,
];

/** The estimate of a completion's log-probs, view after view: each is one sequence, and all of its logits. */
function plainEstimate(decoder: Decoder, prompt: readonly number[], b: number, plan: MaskPlan): Tensor[] {
  const { ids, region } = all[b]!;
  const { maskId, shifted } = decoder.config.diffusion!;
  return ids.map((id, t) => {
    const parts = plan
      .filter((view) => view.region[t] === 1)
      .map((view) => {
        const input = [
          ...prompt.map((own, i) => (view.prompt[i] === 1 ? maskId : own)),
          ...region!.ids.map((own, w) => (view.region[w] === 1 ? maskId : own)),
        ];
        const packed = packSegments([{ ids: input }], decoder.config, decoder.device);
        const logits = decoder.logits(decoder.hidden(packed, packed.attend)).div(TEMPERATURE);
        const place = prompt.length + t - (shifted ? 1 : 0);
        return logits.narrow(0, place, 1).logSoftmax(-1).narrow(1, id, 1).sum().mul(view.weight);
      });
    return parts.reduce((sum, part) => sum.add(part), tensor([0]).sum());
  });
}

/** Loss and gradients by the book: the clipped ratio and k3 of each estimated token, over their number. */
function plainGradients(model: Model, reference: Decoder, plans: readonly MaskPlan[]) {
  const prompts = PROBLEMS.map(({ prompt }) => model.tokenizer.encode(prompt as string));
  const isEstimated = (b: number, t: number) => plans[b]!.some(({ region }) => region[t] === 1);
  const tokens = all.flatMap(({ ids }, b) => ids.filter((_, t) => isEstimated(b, t))).length;
  let loss = 0;
  for (const [b, { ids }] of all.entries()) {
    const prompt = prompts[Math.floor(b / 4)]!;
    const policy = plainEstimate(model.decoder, prompt, b, plans[b]!);
    const before = noGrad(() => plainEstimate(reference, prompt, b, plans[b]!));
    const terms = ids.flatMap((_, t) => {
      if (!isEstimated(b, t)) return [];
      const old = policy[t]!.item() + shift(b, t);
      const ratio = policy[t]!.sub(old).exp();
      const gain = ratio.mul(ADVANTAGES[b]!).minimum(ratio.clamp(1 - CLIP, 1 + CLIP).mul(ADVANTAGES[b]!));
      const d = before[t]!.sub(policy[t]!);
      return [d.exp().sub(d).sub(1).mul(BETA).sub(gain).div(tokens)];
    });
    if (terms.length === 0) continue;
    const share = terms.reduce((sum, term) => sum.add(term));
    share.backward();
    loss += share.item();
  }
  const gradients = [...model.decoder.parameters].map(
    ([name, parameter]) => [name, parameter.grad!.toTypedArray() as Float32Array] as const,
  );
  return { loss, gradients: new Map(gradients) };
}

const CASES = ESTIMATORS.flatMap((estimator) =>
  [false, true].map((shifted) => [estimator, shifted] as const),
);

describe.each(CASES)('a step of a masked-diffusion model, %s, shifted: %s', (estimator, shifted) => {
  it('has the gradient of its estimate written out, however completions are put together', async () => {
    const model = diffusionModel(shifted);
    const reference = neighbour(model.decoder);
    let expected: ReturnType<typeof plainGradients> | undefined;
    for (const budget of [1, 60, 100_000]) {
      const plans: MaskPlan[][] = [];
      let gradients = new Map<string, Float32Array>();
      const stages = {
        ...fixedStages(plans),
        logprob: shiftingOld(model),
        update: intoGradients(model, (found) => {
          gradients = found;
        }),
      };
      const settings = settingsOf(
        estimator,
        `objective.clipLow=${CLIP}`,
        'objective.oldLogprobs=recompute',
        `train.microBatchTokens=${budget}`,
      );
      const { loss } = await grpoStep(trainerOf(model, settings, stages, reference), PROBLEMS, 0, 0);
      expected ??= plainGradients(diffusionModel(shifted), reference, plans[0]!);
      expect(loss).toBeCloseTo(expected.loss, 5);
      expect(relativeError(gradients, expected.gradients), `budget ${budget}`).toBeLessThan(1e-5);
    }
  });
});

describe.each(ESTIMATORS)('several iterations over a rollout, %s', (estimator) => {
  it('have masks of their own, which old, new and reference log-probs share', async () => {
    const model = diffusionModel();
    const reference = neighbour(model.decoder);
    const plans: MaskPlan[][] = [];
    const seen: { decoder: string; plan: MaskPlan[] }[] = [];
    const logprob: Stages['logprob'] = (decoder, groups, ...rest) => {
      const scores = scoreTokens(decoder, groups, ...rest);
      const role = scores.logprobs_T.requiresGrad ? 'new' : decoder === reference ? 'reference' : 'old';
      seen.push({ decoder: role, plan: groups.flatMap(({ masked }) => masked!.map(({ plan }) => plan)) });
      return scores;
    };
    const gaps: number[] = [];
    const watching: StepObserver = {
      microBatchDone: ({ output }) => {
        gaps.push(...output.terms!.ratio_T!.toNumbers().map((ratio) => Math.abs(ratio - 1)));
      },
    };
    const settings = settingsOf(
      estimator,
      'objective.iterations=3',
      'objective.oldLogprobs=recompute',
      'train.microBatchTokens=100000',
    );
    const trainer = trainerOf(model, settings, { ...fixedStages(plans), logprob }, reference);
    await grpoStep({ ...trainer, observers: [watching] }, PROBLEMS, 0, 0);
    expect(plans).toHaveLength(3);
    expect(new Set(plans.map((plan) => JSON.stringify(plan))).size).toBe(3);
    for (const role of ['old', 'reference', 'new'])
      expect(seen.filter(({ decoder }) => decoder === role).map(({ plan }) => plan)).toEqual(plans);
    // Nothing was learnt, so the ratio of equal masks is 1.
    expect(gaps.length).toBeGreaterThan(90);
    expect(Math.max(...gaps)).toBeLessThan(1e-6);
  });
});

describe.each(ESTIMATORS)('the gradient of a step, %s', (estimator) => {
  it('is the slope of the loss', async () => {
    const model = diffusionModel();
    const reference = neighbour(model.decoder);
    let gradients = new Map<string, Float32Array>();
    const update = intoGradients(model, (found) => {
      gradients = found;
    });
    const settings = settingsOf(estimator, 'objective.loss=reinforce_sum');
    await grpoStep(trainerOf(model, settings, { ...fixedStages(), update }, reference), PROBLEMS, 0, 0);

    const decoder = wide(model.decoder);
    const stages = { ...fixedStages(), update: () => ({ gradNorm: 1 }) };
    const trainer = trainerOf({ ...model, decoder }, settings, stages, reference);
    await expectSlopes(trainer, gradients, 1e-4);
  });
});
