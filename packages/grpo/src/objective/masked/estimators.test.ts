import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { tensor, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ESTIMATORS, type Estimator } from '../../config/choices.js';
import { resolveConfig } from '../../config/resolve.js';
import { type Decoder, loadModel } from '../../models/index.js';
import { type ScoredGroup, scoreTokens } from '../logprob.js';
import { composedLoss } from '../loss.js';
import { isEstimated, type PlannedGroup, passesOf, planMasks } from './estimators.js';
import { inputOf } from './masked-logprob.js';

/** A pass: the places that it hides. */
interface Pass {
  prompt: number[];
  region: number[];
  weight: number;
}

interface Case {
  estimator: Estimator;
  shifted: boolean;
  completions: { plan: Pass[]; logprobs: number[]; old: number[]; reference: number[] }[];
  loss: number;
  gradientNorms: Record<string, number>;
  gradients: Record<string, number[]>;
}

interface Fixture {
  maskId: number;
  temperature: number;
  seed: number;
  step: number;
  iteration: number;
  promptMaskRate: number;
  maskRates: [number, number];
  epsilon: number;
  beta: number;
  prompts: number[][];
  regions: number[][];
  lengths: number[];
  advantages: number[];
  cases: Case[];
}

const fixtures = (path: string) =>
  fileURLToPath(new URL(`../../../../../parity/fixtures/${path}`, import.meta.url));
const fixture = JSON.parse(readFileSync(fixtures('estimators.json'), 'utf8')) as Fixture;
const { prompts, regions, lengths, seed, step, iteration } = fixture;
const groupSize = regions.length / prompts.length;

const planned: PlannedGroup[] = prompts.map((prompt, p) => ({
  prompt,
  completions: regions.slice(p * groupSize, (p + 1) * groupSize).map((ids, g) => ({
    ids: ids.slice(0, lengths[p * groupSize + g]),
    region: { ids, order: ids.map(() => 0) },
  })),
}));

const plansOf = ({ estimator }: Case) =>
  planMasks(planned, { estimator, ...fixture }, seed, { step, iteration });

const places = (hidden: Uint8Array) => [...hidden.keys()].filter((i) => hidden[i] === 1);

/** The fixture model that attends both ways, ready to train. */
function decoderOf(shifted: boolean): Decoder {
  const { decoder } = loadModel(fixtures('models/qwen2'));
  onTestFinished(() => decoder.dispose());
  decoder.config.diffusion = { maskId: fixture.maskId, shifted };
  for (const parameter of decoder.parameters.values()) parameter.requiresGrad = true;
  return decoder;
}

/** Log-probs, loss and gradients of the update, by name. */
function updateOf(one: Case) {
  const decoder = decoderOf(one.shifted);
  const plans = plansOf(one);
  const groups = planned.map(
    ({ prompt, completions }, p): ScoredGroup => ({
      prompt,
      completions: completions.map(({ ids }) => ids),
      masked: completions.map(({ region }, g) => ({ region: region.ids, plan: plans[p * groupSize + g]! })),
    }),
  );
  const mask = Uint8Array.from(
    lengths.flatMap((length, b) => Array.from({ length }, (_, t) => (isEstimated(plans[b]!, t) ? 1 : 0))),
  );
  const { config } = resolveConfig({
    command: 'explain',
    settings: ['objective.loss=dapo', `objective.clipLow=${fixture.epsilon}`, 'kl.estimator=k3'],
    env: {},
  });
  return tidy(() => {
    const { logprobs_T, entropies_T } = scoreTokens(decoder, groups, fixture.temperature);
    const given = (key: 'old' | 'reference') => tensor(one.completions.flatMap((row) => row[key]));
    const { loss } = composedLoss({
      logprobs_T,
      entropies_T,
      oldLogprobs_T: given('old'),
      referenceLogprobs_T: given('reference'),
      samplerLogprobs_T: null,
      fullKl_T: null,
      advantages: fixture.advantages,
      lengths,
      mask,
      update: { completions: lengths.length, tokens: mask.filter((is) => is === 1).length },
      betas: lengths.map(() => fixture.beta),
      entropyCoefficient: 0,
      settings: {
        ...config.objective,
        kl: config.kl,
        entropy: config.entropy,
        correction: config.correction,
      },
    });
    loss.backward();
    const gradients = [...decoder.parameters].map(([name, p]) => [name, p.grad!.toNumbers()] as const);
    return { logprobs: logprobs_T.toNumbers(), loss: loss.item(), gradients: new Map(gradients) };
  });
}

const norm = (values: readonly number[]) => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0));

const cosine = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, x, i) => sum + x * b[i]!, 0) / (norm(a) * norm(b));

const titled = fixture.cases.map((one) => [`${one.estimator}, shifted: ${one.shifted}`, one] as const);

describe.each(titled)('the estimate %s', (_, one) => {
  it('hides the places that are computed elsewhere, with their weights', () => {
    for (const [b, plan] of plansOf(one).entries()) {
      const expected = one.completions[b]!.plan;
      expect(plan.map(({ prompt, region }) => ({ prompt: places(prompt), region: places(region) }))).toEqual(
        expected.map(({ prompt, region }) => ({ prompt, region })),
      );
      for (const [i, { weight }] of plan.entries()) expect(weight).toBeCloseTo(expected[i]!.weight, 12);
    }
  });

  it('has the log-probs, the loss and the gradients of PyTorch in float64', () => {
    const { logprobs, loss, gradients } = updateOf(one);
    const expected = one.completions.flatMap((row) => row.logprobs);
    expect(Math.max(...logprobs.map((value, t) => Math.abs(value - expected[t]!)))).toBeLessThan(2e-5);
    expect(Math.abs(loss - one.loss)).toBeLessThan(1e-5);
    for (const [name, values] of Object.entries(one.gradients))
      expect(cosine(gradients.get(name)!, values), name).toBeGreaterThan(0.99999);
    for (const [name, own] of gradients)
      expect(Math.abs(norm(own) / one.gradientNorms[name]! - 1), name).toBeLessThan(1e-4);
  });
});

describe('plans of masks', () => {
  const settings = {
    estimator: 'd1' as const,
    promptMaskRate: 0.3,
    maskRates: [0.2, 0.8] as [number, number],
  };
  const many = Array.from({ length: 40 }, (): PlannedGroup => {
    const ids = Array.from({ length: 100 }, (_, w) => w);
    return { prompt: ids, completions: [0, 1].map(() => ({ ids, region: { ids, order: ids } })) };
  });
  const shareOf = (masks: readonly Uint8Array[]) =>
    masks.flatMap((mask) => [...mask]).reduce((sum, is) => sum + is, 0) / (100 * masks.length);

  it('hide the declared shares', () => {
    const at = { step: 0, iteration: 0 };
    const d1 = planMasks(many, settings, 1, at);
    expect(shareOf(d1.map(([view]) => view!.prompt))).toBeCloseTo(0.3, 1);
    expect(d1.every(([view]) => view!.region.every((is) => is === 1))).toBe(true);
    const sums = planMasks(many, { ...settings, estimator: 'sum_masked' }, 1, at);
    const shares = sums.map(([view]) => shareOf([view!.region]));
    expect(shareOf(sums.map(([view]) => view!.region))).toBeCloseTo(0.5, 1);
    expect(Math.min(...shares)).toBeLessThan(0.35);
    expect(Math.max(...shares)).toBeGreaterThan(0.65);
    expect(sums.every(([view]) => view!.prompt.every((is) => is === 0))).toBe(true);
  });

  it.each(ESTIMATORS)('are of as many passes as are foretold, %s', (estimator) => {
    const [group] = many;
    const plans = planMasks([group!], { ...settings, estimator }, 1, { step: 0, iteration: 0 });
    const inputs = group!.completions.map(({ region }, g) =>
      plans[g]!.map((view) => inputOf(group!.prompt, region.ids, view, -1).join()),
    );
    const { shared, own } = passesOf[estimator];
    expect(inputs.map(({ length }) => length)).toEqual([shared + own, shared + own]);
    expect(inputs[0]!.filter((input) => inputs[1]!.includes(input))).toHaveLength(shared);
  });

  it('have one mask of a prompt per group, step and iteration', () => {
    const masks = (step: number, iteration: number) =>
      planMasks(many, settings, 1, { step, iteration }).map(([view]) => view!.prompt.join(''));
    const first = masks(0, 0);
    for (let p = 0; p < 40; p++) expect(first[2 * p]).toBe(first[2 * p + 1]);
    expect(new Set([...first, ...masks(0, 1), ...masks(1, 0)]).size).toBe(3 * 40);
    expect(masks(0, 0)).toEqual(first);
  });

  it('give every token of coupled passes one of two halves', () => {
    for (const plan of planMasks(many, { ...settings, estimator: 'coupled' }, 1, { step: 0, iteration: 0 })) {
      const [all, half, rest] = plan;
      expect(all!.region.every((is) => is === 1)).toBe(true);
      expect(half!.region.every((is, w) => is + rest!.region[w]! === 1)).toBe(true);
      expect(1 / half!.weight + 1 / rest!.weight).toBeCloseTo(2, 12);
    }
  });

  it('hide a token of each completion, however short', () => {
    const short = many.map(({ prompt, completions }) => ({
      prompt,
      completions: completions.map(({ region }) => ({ ids: [0], region })),
    }));
    const all = planMasks(short, { ...settings, estimator: 'sum_masked' }, 1, { step: 0, iteration: 0 });
    expect(all.every((plan) => isEstimated(plan, 0))).toBe(true);
  });
});
