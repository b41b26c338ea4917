import { AdamW, noGrad, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mean, moments } from '../maths/moments.js';
import { initDecoder, type Model, packSegments } from '../models/index.js';
import { maskedShape } from '../models/masked-shape.test.helper.js';
import { inputOf, scoreTokens } from '../objective/index.js';
import type { Example } from './examples.js';
import { hideExamples } from './hide-examples.js';
import { sftStep } from './sft.js';

const MASK = 30;
const END = 29;
const WIDTH = 7;

/** A masked-diffusion model of random weights with its optimizer. */
function tinyModel({ layers }: { layers: number }): { model: Model; optimizer: AdamW } {
  const config = maskedShape({ maskId: MASK, shifted: false }, { vocabSize: 31, layers });
  const decoder = initDecoder(config, { seed: 4, std: 0.3 });
  for (const parameter of decoder.parameters.values()) parameter.requiresGrad = true;
  const settings = { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0 };
  const optimizer = new AdamW(decoder.parameters, settings);
  onTestFinished(() => {
    optimizer.dispose();
    decoder.dispose();
  });
  return { model: { decoder, endIds: new Set([END]) } as unknown as Model, optimizer };
}

const EXAMPLES: Example[] = [
  { prompt: [1, 2, 3], completion: [7, 8, END] },
  { prompt: [4], completion: [9, 10, 11, 12, END] },
  { prompt: [5, 6], completion: [13, END] },
];

const OPTIONS = { learningRate: 0, maxGradNorm: 0, microBatchTokens: 8192, width: WIDTH };
const hiding = (seed: number) => ({ width: WIDTH, endId: END, maxPositions: 64, seed });

describe('hidden examples', () => {
  it('fill the region with ends, as far as the context goes', () => {
    const examples = [...EXAMPLES, { prompt: Array<number>(60).fill(1), completion: [2, END] }];
    const long = { prompt: [1], completion: [1, 2, 3, 4, 5, 6, 7, 8, END] };
    expect(hideExamples([...examples, long], hiding(1)).map(({ region }) => region)).toEqual([
      [7, 8, END, END, END, END, END],
      [9, 10, 11, 12, END, END, END],
      [13, END, END, END, END, END, END],
      [2, END, END, END],
      long.completion,
    ]);
  });

  it('have shares drawn evenly from 0 to 1, weights that are their inverse, and places hidden by them', () => {
    const example = { prompt: [1, 2], completion: Array<number>(20).fill(3) };
    const hidden = hideExamples(Array<Example>(4000).fill(example), hiding(2));
    const views = hidden.map(({ plan }) => {
      expect(plan).toHaveLength(1);
      return plan[0]!;
    });
    const shares = views.map(({ weight }) => 1 / weight);
    const [least, most] = [Math.min(...shares), Math.max(...shares)];
    expect([least > 0, least < 0.01, most > 0.99, most <= 1]).toEqual([true, true, true, true]);
    // Four standard errors: of an even draw, and of the binomial counts.
    expect(Math.abs(mean(shares) - 1 / 2)).toBeLessThan(4 * Math.sqrt(1 / 12 / 4000));
    for (let tenth = 0; tenth < 10; tenth++) {
      const own = views.filter((_, i) => Math.ceil(shares[i]! * 10) - 1 === tenth);
      for (let place = 0; place < 20; place++) {
        const expected = own.reduce((sum, { weight }) => sum + 1 / weight, 0);
        const counted = own.filter(({ region }) => region[place]).length;
        expect(Math.abs(counted - expected)).toBeLessThan(4 * Math.sqrt(own.length / 4));
      }
    }
    expect(views.every(({ prompt }) => `${prompt}` === '0,0')).toBe(true);
  });
});

describe('SFT of a masked-diffusion model', () => {
  it.each([8192, 10, 1])(
    'has the loss that its formula gives, one place at a time; %d tokens at a time',
    async (microBatchTokens) => {
      const { model, optimizer } = tinyModel({ layers: 2 });
      let sum = 0;
      for (const [i, { region, plan }] of hideExamples(EXAMPLES, hiding(3)).entries()) {
        const [view] = plan;
        const { prompt } = EXAMPLES[i]!;
        const logits = noGrad(() =>
          tidy(() => {
            const ids = inputOf(prompt, region, view!, MASK);
            const packed = packSegments([{ ids }], model.decoder.config, 'cpu');
            return model.decoder.logits(model.decoder.hidden(packed, packed.attend)).toNumbers();
          }),
        );
        for (const [place, id] of region.entries()) {
          if (!view!.region[place]) continue;
          const row = logits.slice((prompt.length + place) * 31, (prompt.length + place + 1) * 31);
          const mass = Math.log(row.reduce((total, logit) => total + Math.exp(logit), 0));
          sum += view!.weight * (mass - row[id]!);
        }
      }
      const result = await sftStep(model, optimizer, EXAMPLES, { ...OPTIONS, microBatchTokens, seed: 3 });
      expect(result.loss).toBeCloseTo(sum / (3 * WIDTH), 5);
      expect(result.tokens).toBe(3 * WIDTH);
    },
  );

  it('has the expectation of the mean negative log-likelihood, where a place does not depend on others', async () => {
    // Without layers a hidden place knows of the mask alone: its distribution is the same whatever else is hidden.
    const { model, optimizer } = tinyModel({ layers: 0 });
    const all = { prompt: new Uint8Array(1), region: new Uint8Array(WIDTH).fill(1), weight: 1 };
    const regions = hideExamples(EXAMPLES, hiding(0)).map(({ region }) => region);
    const groups = regions.map((region) => ({
      prompt: [1],
      completions: [region],
      masked: [{ region, plan: [all] }],
    }));
    const { likelihood, entropy } = noGrad(() =>
      tidy(() => {
        const { logprobs_T, entropies_T } = scoreTokens(model.decoder, groups, 1);
        return { likelihood: logprobs_T.mean().item(), entropy: entropies_T.mean().item() };
      }),
    );
    const losses: number[] = [];
    for (let seed = 0; seed < 1500; seed++) {
      const result = await sftStep(model, optimizer, EXAMPLES, { ...OPTIONS, seed });
      losses.push(result.loss);
      if (result.loss > 0) expect(result.entropy).toBeCloseTo(entropy, 4);
    }
    const error = moments(losses, 1).deviation / Math.sqrt(losses.length);
    expect(error).toBeLessThan(-0.05 * likelihood);
    expect(Math.abs(mean(losses) + likelihood)).toBeLessThan(4 * error);
  });

  it('teaches the completion and the ends after it', async () => {
    const { model, optimizer } = tinyModel({ layers: 1 });
    for (let seed = 0; seed < 150; seed++)
      await sftStep(model, optimizer, EXAMPLES, { ...OPTIONS, learningRate: 0.02, maxGradNorm: 1, seed });
    const groups = EXAMPLES.map(({ prompt }, i) => {
      const { region } = hideExamples(EXAMPLES, hiding(0))[i]!;
      const view = {
        prompt: new Uint8Array(prompt.length),
        region: new Uint8Array(WIDTH).fill(1),
        weight: 1,
      };
      return { prompt, completions: [region], masked: [{ region, plan: [view] }] };
    });
    const logprobs = noGrad(() => tidy(() => scoreTokens(model.decoder, groups, 1).logprobs_T.toNumbers()));
    expect(Math.min(...logprobs)).toBeGreaterThan(-0.5);
  });
});
