import { empty, memory } from '@grpo/torch';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Transformer } from '../models/transformer.js';
import { plainSampling } from './completion.js';
import { diffusing, expectedOf, fixture, range } from './rollout.test.helper.js';
import { sample } from './sampler.js';
import { memoryNews, withinMemory } from './within-memory.js';

/** An error of the engine's own allocator: 140 TB are more than any machine can address. */
const exhaust = () => empty([2 ** 45]);

/** Runs 10 items of size 3 each; in which lots, and how it ended. */
async function lotsOf(configured: number, room: number, model = {}) {
  const lots: number[][] = [];
  const take = (from: number, size: number) => {
    const count = Math.max(1, Math.min(10 - from, Math.floor(size / 3)));
    return { items: range(10).slice(from, from + count), count, size: 3 * count };
  };
  const bound = { unit: 'items', setting: 'the.size', configured, model };
  const run = withinMemory(bound, 10, take, async ({ items, size }) => {
    if (size > room) exhaust();
    lots.push(items);
  });
  return {
    lots,
    error: await run.then(
      () => undefined,
      (error: Error & { hint: string }) => error,
    ),
  };
}

describe('lots that do not fit into memory', () => {
  it('are done again in halves, once', async () => {
    const { lots, error } = await lotsOf(18, 9);
    expect(error).toBeUndefined();
    expect(lots).toEqual([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]);
  });

  it('end with the setting to change when half does not fit either', async () => {
    const { lots, error } = await lotsOf(30, 9);
    expect(lots).toEqual([]);
    expect(error!.message).toBe('out of memory: half of a lot, 15 items, does not fit');
    expect(error!.hint).toBe(
      'Lower the.size, which allows 30 items; dtype=bfloat16 takes half the memory of float32',
    );
    expect((error!.cause as Error).message).toContain('aten::empty');
  });

  it('leave the smaller size to the next lots of that model, and tell it once', async () => {
    const model = {};
    await lotsOf(18, 9, model);
    expect((await lotsOf(18, 100, model)).lots[0]).toEqual([0, 1, 2]);
    // A smaller setting stays as it is.
    expect((await lotsOf(6, 100, model)).lots[0]).toEqual([0, 1]);
    expect((await lotsOf(18, 100)).lots[0]).toEqual([0, 1, 2, 3, 4, 5]);
    expect(memoryNews(model)).toEqual([
      'memory ran out with 18 items at once; from now on 9. Results differ by rounding only. A smaller the.size begins with fewer.',
    ]);
    expect(memoryNews(model)).toEqual([]);
  });

  it('pass other errors on at once', async () => {
    const take = (from: number) => ({ from, count: 1, size: 1 });
    const run = withinMemory({ unit: 'items', setting: 'a', configured: 1, model: {} }, 2, take, async () => {
      throw new Error('something else');
    });
    await expect(run).rejects.toThrow(/^something else$/);
  });
});

describe('sampling that runs out of memory', () => {
  const { prompts } = expectedOf('qwen3');
  const requests = prompts.map((ids, i) => ({ ids, count: 3, keys: [i] }));
  const options = { ...plainSampling, maxNewTokens: 12, temperature: 0.9 };

  it.each([
    ['a causal', 1],
    ['a causal', 5],
    ['a masked-diffusion', 1],
    ['a masked-diffusion', 5],
  ])('from %s model, at pass %d, samples the same in smaller lots', async (kind, pass) => {
    const causal = fixture('qwen3', range(26));
    const model = kind === 'a causal' ? causal : diffusing(causal);
    // Else its tensors go whenever they are collected, and the count of the next pass with them.
    onTestFinished(() => [model, causal].forEach(({ decoder }) => void decoder.dispose()));
    const expected = await sample(model, requests, options, 1);
    const before = memory();
    const { logits } = Transformer.prototype;
    let calls = 0;
    // Spies on every decoder: passes after the first are those of one that is laid out for decoding.
    const spy = vi.spyOn(Transformer.prototype, 'logits').mockImplementation(function (
      this: Transformer,
      hidden,
    ) {
      return ++calls === pass ? exhaust() : logits.call(this, hidden);
    });
    const found = await sample(model, requests, options, 1);
    spy.mockRestore();
    expect(memory()).toEqual(before);
    expect(found.flat().map(({ ids, text, finishReason }) => ({ ids, text, finishReason }))).toEqual(
      expected.flat().map(({ ids, text, finishReason }) => ({ ids, text, finishReason })),
    );
    expect(memoryNews(model.decoder)).toEqual([
      expect.stringMatching(/^memory ran out with 12 completions at once; from now on 6\./),
    ]);
  });
});
