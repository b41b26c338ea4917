import { fileURLToPath } from 'node:url';
import { getThreads, setThreads } from '@grpo/torch';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Decoder, loadModel, type Model } from '../models/index.js';
import { plainSampling } from './completion.js';
import { architectures, expectedOf, fixture, range } from './rollout.test.helper.js';
import { sample } from './sampler.js';

afterEach(() => {
  vi.restoreAllMocks();
});

const fixtures = fileURLToPath(new URL('../../../../parity/fixtures/', import.meta.url));

/** Prompts of 1, 5, 17 and 40 tokens in groups of unequal size; many ends and limits, so that rows leave all the time. */
async function rollout(model: Model, change: Partial<typeof plainSampling>) {
  const { prompts } = expectedOf('qwen3');
  const requests = prompts.map((ids, i) => ({
    ids,
    count: 2 + i,
    keys: [i],
    limits: range(2 + i).map((row) => 3 + ((7 * row + 5 * i) % 38)),
  }));
  const groups = await sample(model, requests, { ...plainSampling, maxNewTokens: 40, ...change }, 3);
  return groups.flat();
}

/** By operators of our own, and by libtorch's alone. */
async function bothWays(model: Model, change: Partial<typeof plainSampling> = {}) {
  const own = await rollout(model, change);
  vi.spyOn(Decoder.prototype, 'fuses', 'get').mockReturnValue(false);
  const plain = await rollout(model, change);
  return { own, plain };
}

const furthest = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((most, x, i) => Math.max(most, Math.abs(x - b[i]!)), 0);

describe("a decode step by operators of our own is libtorch's", () => {
  it.each(architectures)('of %s: drawn and greedy tokens, and their log-probs', async (name) => {
    for (const change of [{ minNewTokens: 5 }, { temperature: 0.7 }, { temperature: 0 }]) {
      const { own, plain } = await bothWays(fixture(name, range(20)), change);
      vi.restoreAllMocks();
      expect(new Set(own.map(({ ids }) => ids.length)).size).toBeGreaterThan(2);
      for (const [i, { ids, logprobs, sampledLogprobs }] of own.entries()) {
        expect(ids).toEqual(plain[i]!.ids);
        expect(furthest(logprobs, plain[i]!.logprobs)).toBeLessThan(1e-5);
        expect(furthest(sampledLogprobs, plain[i]!.sampledLogprobs)).toBeLessThan(1e-5);
      }
    }
  });

  it.each(['gpt2', 'llama3'])('of %s with an adapter', async (name) => {
    const adapter = `${fixtures}lora/${name}`;
    const model = loadModel(`${fixtures}models/${name}`, { lora: { adapter } });
    const { own, plain } = await bothWays({ ...model, endIds: new Set(range(20)) });
    vi.restoreAllMocks();
    const without = await rollout(fixture(name, range(20)), {});
    expect(own.map(({ ids }) => ids)).not.toEqual(without.map(({ ids }) => ids));
    for (const [i, { ids, logprobs }] of own.entries()) {
      expect(ids).toEqual(plain[i]!.ids);
      expect(furthest(logprobs, plain[i]!.logprobs)).toBeLessThan(1e-5);
    }
  });

  it('of bfloat16 within its rounding', async () => {
    const { own, plain } = await bothWays(fixture('qwen3-bf16'), { minNewTokens: 40 });
    let compared = 0;
    for (const [i, { ids, logprobs }] of own.entries()) {
      // Up to the first token that rounding decided.
      const differs = ids.findIndex((id, j) => id !== plain[i]!.ids[j]);
      const same = differs < 0 ? ids.length : differs;
      expect(furthest(logprobs.subarray(0, same), plain[i]!.logprobs)).toBeLessThan(0.25);
      compared += same;
    }
    expect(compared).toBeGreaterThan(50);
  });

  it('gives the same bytes on one thread and on two', async () => {
    const threads = getThreads();
    const model = fixture('qwen3', range(20));
    try {
      setThreads(1);
      const one = await rollout(model, {});
      setThreads(2);
      expect(await rollout(model, {})).toEqual(one);
    } finally {
      setThreads(threads);
    }
  });
});
