import { describe, expect, it } from 'vitest';
import { uniform } from '../maths/random.js';
import type { Model } from '../models/index.js';
import { type Completion, plainSampling, type SamplingOptions } from './completion.js';
import { truncates } from './distribution.js';
import { adjust, logSoftmax, truncated } from './reference.test.helper.js';
import { architectures, expectedOf, fixture, packedLogits, range } from './rollout.test.helper.js';
import { sample } from './sampler.js';

/** Groups of two and three, by the prompts of a fixture. */
const requestsOf = (prompts: number[][]) =>
  prompts.map((ids, i) => ({ ids, count: 2 + (i % 2), keys: [7, i] }));

/** Calls `see` for every sampled token, with the logits of the packed decoder there. */
function scored<T>(
  model: Model,
  prompt: number[],
  { ids }: Completion,
  see: (logits: number[], token: number, place: number) => T,
): T[] {
  const logits = packedLogits(model, [...prompt, ...ids]);
  return ids.map((token, i) => see(logits[prompt.length + i - 1]!, token, i));
}

const furthest = (a: ArrayLike<number>, b: ArrayLike<number>) => {
  expect(a.length).toBe(b.length);
  return Array.from(a).reduce((max, x, i) => Math.max(max, Math.abs(x - b[i]!)), 0);
};

describe.each(architectures)('%s', (name) => {
  const { prompts, greedy } = expectedOf(name);

  it('decodes greedily as transformers does, prompts of unequal length in one batch', async () => {
    const model = fixture(name);
    const options = { ...plainSampling, temperature: 0, maxNewTokens: 64 };
    const groups = await sample(model, requestsOf(prompts), options, 0);
    expect(groups.map((g) => g.length)).toEqual([2, 3, 2, 3]);
    for (const [i, group] of groups.entries()) for (const c of group) expect(c.ids).toEqual(greedy[i]);
  });

  it('goes on as transformers does when rows beside it end', async () => {
    // Each prompt but the longest meets its own end, at another time.
    const ends = [greedy[0]![2]!, greedy[1]![9]!, greedy[2]![20]!];
    const model = fixture(name, ends);
    const options = { ...plainSampling, temperature: 0, maxNewTokens: 64 };
    const groups = await sample(model, requestsOf(prompts), options, 0);
    for (const [i, group] of groups.entries()) {
      const end = greedy[i]!.findIndex((id) => ends.includes(id));
      for (const c of group) {
        expect(c.ids).toEqual(end < 0 ? greedy[i] : greedy[i]!.slice(0, end + 1));
        expect(c.finishReason).toBe(end < 0 ? 'length' : 'stop');
      }
    }
  });

  it.each([1, 0.7])('gives the log-probs that training computes, at temperature %d', async (temperature) => {
    const model = fixture(name, range(4));
    const options = { ...plainSampling, temperature, maxNewTokens: 40 };
    const groups = await sample(model, requestsOf(prompts), options, 1);
    for (const [i, group] of groups.entries()) {
      for (const c of group) {
        const expected = scored(model, prompts[i]!, c, (logits, id) => logSoftmax(logits, temperature)[id]!);
        expect(furthest(c.logprobs, expected)).toBeLessThan(1e-4);
        expect(c.sampledLogprobs).toEqual(c.logprobs);
      }
    }
  });
});

const penalties = { repetitionPenalty: 1.3, presencePenalty: 0.4, frequencyPenalty: 0.2 };

describe.each<[Partial<SamplingOptions>]>([
  [{ topK: 20 }],
  [{ topP: 0.6 }],
  [{ minP: 0.2 }],
  [{ temperature: 0.7, topK: 30, topP: 0.8, minP: 0.05 }],
  [penalties],
  [{ minNewTokens: 10 }],
  [{ ...penalties, minNewTokens: 8, temperature: 1.2, topK: 40, topP: 0.9, minP: 0.02 }],
])('with %o', (change) => {
  const options = { ...plainSampling, maxNewTokens: 30, keepSupport: true, ...change };
  const seed = 5;

  it('draws from the distribution that these options make of the logits', async () => {
    // Many ends, so that rows leave and so that forbidding them counts.
    const model = fixture('qwen3', range(20));
    const { prompts } = expectedOf('qwen3');
    const requests = requestsOf(prompts);
    const groups = await sample(model, requests, options, seed);
    for (const [i, group] of groups.entries()) {
      for (const [index, c] of group.entries()) {
        const plain = scored(model, prompts[i]!, c, (x, id) => logSoftmax(x, options.temperature)[id]!);
        expect(furthest(c.logprobs, plain)).toBeLessThan(1e-4);
        const drawn = scored(model, prompts[i]!, c, (logits, id, place) => {
          const forbidden = place < options.minNewTokens ? model.endIds : new Set<number>();
          const logprobs = truncated(adjust(logits, c.ids.slice(0, place), forbidden, options), options);
          // The token is where the row's own random number falls in the cumulative distribution.
          const below = logprobs.slice(0, id).reduce((sum, x) => sum + Math.exp(x), 0);
          const u = uniform(seed, ...requests[i]!.keys, index, place);
          expect(u).toBeGreaterThan(below - 1e-5);
          expect(u).toBeLessThan(below + Math.exp(logprobs[id]!) + 1e-5);
          if (c.support) {
            const kept = [...logprobs.keys()].filter((other) => Number.isFinite(logprobs[other]));
            expect([...c.support.ids(place)]).toEqual(kept);
          }
          return logprobs[id]!;
        });
        expect(furthest(c.sampledLogprobs, drawn)).toBeLessThan(1e-4);
        expect(c.support?.length).toBe(truncates(options) ? c.ids.length : undefined);
      }
    }
  });
});

describe('options', () => {
  it.each<[object, string]>([
    [{ maxTokens: 5 }, 'sample() has no option maxTokens. The nearest known one is maxNewTokens.'],
    [{ maxNewTokens: 0 }, 'at maxNewTokens'],
    [{ maxNewTokens: 2.5 }, 'at maxNewTokens'],
    [{ temperature: Number.NaN }, 'at temperature'],
    [{ topP: 0 }, 'at topP'],
    [{ topK: -5 }, 'at topK'],
    [{ minP: undefined }, 'sample() needs minP'],
    [{ presencePenalty: Number.POSITIVE_INFINITY }, 'at presencePenalty'],
  ])('that are none are refused: %j', async (changes, message) => {
    const options = { ...plainSampling, ...changes } as SamplingOptions;
    await expect(sample(fixture('llama3'), [{ ids: [1], count: 1, keys: [0] }], options, 0)).rejects.toThrow(
      message,
    );
  });
});

describe('bf16', () => {
  it('samples log-probs as near to those of training as bf16 is to fp32', async () => {
    const { prompts } = expectedOf('qwen3-bf16');
    const narrow = fixture('qwen3-bf16', range(4));
    expect(narrow.decoder.dtype).toBe('bfloat16');
    const wide = fixture('qwen3');
    const groups = await sample(narrow, requestsOf(prompts), { ...plainSampling, maxNewTokens: 40 }, 2);
    let [gap, lost] = [0, 0];
    for (const [i, group] of groups.entries()) {
      for (const c of group) {
        const score = (model: Model) =>
          scored(model, prompts[i]!, c, (logits, id) => logSoftmax(logits)[id]!);
        const trained = score(narrow);
        gap = Math.max(gap, furthest(c.logprobs, trained));
        lost = Math.max(lost, furthest(score(wide), trained));
      }
    }
    expect(gap).toBeLessThan(2 * lost);
  });
});
