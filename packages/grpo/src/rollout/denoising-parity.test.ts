import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { plainSampling, type SamplingOptions } from './completion.js';
import { diffusing, fixture } from './rollout.test.helper.js';
import { sample } from './sampler.js';

/** Regions that a loop in PyTorch filled, with transformers' models attending both ways (parity/make_denoising_fixture.py). */
interface Case {
  model: string;
  shifted: boolean;
  temperature: number;
  top_p: number;
  block_length: number;
  steps: number;
  remasking: 'low_confidence' | 'random';
  regions: {
    prompt: number[];
    seed: number;
    ids: number[];
    order: number[];
    logprobs: number[];
    sampledLogprobs: number[];
  }[];
}

const { mask, width, keys, cases } = JSON.parse(
  readFileSync(new URL('../../../../parity/fixtures/denoising.json', import.meta.url), 'utf8'),
) as { mask: number; width: number; keys: number[]; cases: Case[] };

const furthest = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Math.max(...Array.from(a, (x, i) => Math.abs(x - b[i]!)));

describe.each(cases)(
  '$model, shifted $shifted, $remasking at temperature $temperature in blocks of $block_length',
  (one) => {
    it('is filled as PyTorch fills it, token by token', async () => {
      const model = diffusing(fixture(one.model), { maskId: mask, shifted: one.shifted });
      const options: SamplingOptions = {
        ...plainSampling,
        maxNewTokens: width,
        temperature: one.temperature,
        topP: one.top_p,
        diffusion: { blockLength: one.block_length, steps: one.steps, remasking: one.remasking },
      };
      for (const { prompt, seed, ids, order, logprobs, sampledLogprobs } of one.regions) {
        const requests = [{ ids: prompt, count: 1, keys }];
        const c = (await sample(model, requests, options, seed))[0]![0]!;
        expect(c.region).toEqual({ ids, order });
        expect(furthest(c.logprobs, logprobs)).toBeLessThan(5e-5);
        expect(furthest(c.sampledLogprobs, sampledLogprobs)).toBeLessThan(5e-5);
      }
    });
  },
);
