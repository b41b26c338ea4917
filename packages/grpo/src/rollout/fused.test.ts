import { fileURLToPath } from 'node:url';
import { getThreads, noGrad, setThreads, type Tensor, tensor, tidy } from '@grpo/torch';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Decoder, loadModel, type Model, mergeLora, OwningDecoder, packSegments } from '../models/index.js';
import { Lora } from '../models/lora/lora.js';
import { plainSampling } from './completion.js';
import {
  earlierArchitectures,
  expectedOf,
  fixture,
  otherArchitectures,
  range,
} from './rollout.test.helper.js';
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
  return groups.flatMap((group, i) => group.map((completion) => ({ prompt: prompts[i]!, ...completion })));
}

type Completions = Awaited<ReturnType<typeof rollout>>;

/** The same model in float64, an adapter added to the weights. */
function inFloat64({ config, parameters, lora }: Decoder): Decoder {
  const wide = (tensors: ReadonlyMap<string, Tensor>) =>
    new Map([...tensors].map(([name, tensor]) => [name, tensor.detach().to('float64')]));
  return mergeLora(
    new OwningDecoder(config, wide(parameters), lora && new Lora(lora.settings, wide(lora.parameters))),
  );
}

/** Mean distance of the completions' log-probs from those of a model that scores them whole. */
function meanError({ decoder }: Model, completions: Completions, temperature = 1): number {
  const errors = completions.flatMap(({ prompt, ids, logprobs }) =>
    noGrad(() =>
      tidy(() => {
        const packed = packSegments([{ ids: [...prompt, ...ids] }], decoder.config, decoder.device);
        const hidden = decoder.hidden(packed, packed.attend).narrow(0, prompt.length - 1, ids.length);
        const logits = decoder.logits(hidden).to('float64');
        const all = logits.div(temperature || 1).logSoftmax(-1);
        const exact = all.gather(1, tensor(ids, [ids.length, 1], { dtype: 'int64' })).toNumbers();
        return Array.from(logprobs, (x, i) => Math.abs(x - exact[i]!));
      }),
    ),
  );
  return errors.reduce((sum, error) => sum + error, 0) / errors.length;
}

/** Rolls out by operators of our own, and by libtorch's alone. */
async function bothWays(model: Model, change: Partial<typeof plainSampling> = {}) {
  const own = await rollout(model, change);
  vi.spyOn(Decoder.prototype, 'fuses', 'get').mockReturnValue(false);
  const plain = await rollout(model, change);
  return { own, plain };
}

const furthest = (a: ArrayLike<number>, b: ArrayLike<number>) =>
  Array.from(a).reduce((most, x, i) => Math.max(most, Math.abs(x - b[i]!)), 0);

describe("a decode step by operators of our own is libtorch's", () => {
  it.each([...earlierArchitectures, ...otherArchitectures])(
    'of %s: tokens, and log-probs as near to float64',
    async (name) => {
      const model = fixture(name, range(20));
      const exact = { ...model, decoder: inFloat64(model.decoder) };
      for (const change of [{ minNewTokens: 5 }, { temperature: 0.7 }, { temperature: 0 }]) {
        const { own, plain } = await bothWays(model, change);
        vi.restoreAllMocks();
        expect(new Set(own.map(({ ids }) => ids.length)).size).toBeGreaterThan(2);
        expect(own.map(({ ids }) => ids)).toEqual(plain.map(({ ids }) => ids));
        // No token is excluded from this draw, so its two log-probs are the same.
        if (change.temperature === 0.7)
          for (const { logprobs, sampledLogprobs } of own) expect(sampledLogprobs).toEqual(logprobs);
        const [ours, theirs] = [own, plain].map((all) => meanError(exact, all, change.temperature));
        expect(theirs).toBeLessThan(2e-6);
        expect(ours).toBeLessThan(1.5 * theirs!);
      }
    },
  );

  // With these adapters float32 is up to 1.3e-5 from the truth, whoever computes: the two differ by about as much.
  it.each(['gpt2', 'llama3'])('of %s with an adapter, as near to float64', async (name) => {
    const adapter = `${fixtures}lora/${name}`;
    const model = loadModel(`${fixtures}models/${name}`, { lora: { adapter } });
    const { own, plain } = await bothWays({ ...model, endIds: new Set(range(20)) });
    vi.restoreAllMocks();
    const without = await rollout(fixture(name, range(20)), {});
    expect(own.map(({ ids }) => ids)).not.toEqual(without.map(({ ids }) => ids));
    expect(own.map(({ ids }) => ids)).toEqual(plain.map(({ ids }) => ids));
    const exact = { ...model, decoder: inFloat64(model.decoder) };
    const [ours, theirs] = [own, plain].map((completions) => meanError(exact, completions));
    expect(theirs).toBeLessThan(2e-6);
    expect(ours).toBeLessThan(1.25 * theirs!);
  });

  const families = ['qwen3-bf16', 'gemma2', 'gemma3', 'phi3', 'olmo2', 'granite'];
  it.each(families)('of %s in bfloat16, within its rounding', async (name) => {
    const model = loadModel(`${fixtures}models/${name}`, { dtype: 'bfloat16' });
    const { own, plain } = await bothWays({ ...model, endIds: new Set() }, { minNewTokens: 40 });
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

  // The operators themselves give the same bytes (decode-operators.test.ts); the products between them are libtorch's,
  // and MKL's depend on the threads in their last bits.
  it('gives the same tokens on one thread and on two, and the same log-probs but for the rounding of products', async () => {
    const threads = getThreads();
    const model = fixture('qwen3', range(20));
    try {
      setThreads(1);
      const one = await rollout(model, {});
      setThreads(2);
      const two = await rollout(model, {});
      expect(two.map(({ ids }) => ids)).toEqual(one.map(({ ids }) => ids));
      for (const [i, { logprobs }] of two.entries())
        expect(furthest(logprobs, one[i]!.logprobs)).toBeLessThan(1e-5);
    } finally {
      setThreads(threads);
    }
  });
});
