import { noGrad } from '@grpo/torch';
import { describe, expect, it, vi } from 'vitest';
import { evenRows } from '../models/index.js';
import { Transformer } from '../models/transformer.js';
import { scoreTokens } from '../objective/index.js';
import { type StageProgress, Watch } from '../progress/watch.js';
import { type Completion, plainSampling, type SamplingOptions } from './completion.js';
import type { GroupRequest } from './completion-requests.js';
import { plainDenoise } from './plain-denoise.test.helper.js';
import { diffusing, expectedOf, fixture, MASK, range, scripted } from './rollout.test.helper.js';
import { sample } from './sampler.js';

const { prompts } = expectedOf('qwen3');
const ENDS = range(20);
const model = diffusing(fixture('qwen3', ENDS));
const base: SamplingOptions = { ...plainSampling, maxNewTokens: 24 };
const STEP = 3;
const request = (prompt: number, count = 3): GroupRequest => ({
  ids: prompts[prompt]!,
  count,
  keys: [STEP, prompt],
});
const all = range(4).map((i) => request(i));

const expectNear = (a: ArrayLike<number>, b: ArrayLike<number>) => {
  expect(a.length).toBe(b.length);
  for (const [i, x] of Array.from(a).entries()) expect(Math.abs(x - b[i]!)).toBeLessThan(1e-4);
};

const low = 'low_confidence' as const;

describe.each<[string, Partial<SamplingOptions>, number[]]>([
  ['greedily, one place per step', { temperature: 0 }, [24]],
  [
    'greedily, in blocks',
    { temperature: 0, diffusion: { blockLength: 8, steps: 6, remasking: low } },
    [2, 2, 2],
  ],
  ['in one step', { diffusion: { steps: 1, remasking: low } }, [1]],
  ['random places', { diffusion: { blockLength: 12, steps: 8, remasking: 'random' } }, [4, 4]],
  ['the surest, at another temperature', { temperature: 0.7, diffusion: { steps: 5, remasking: low } }, [5]],
  [
    'from a truncated distribution, in blocks that do not divide',
    {
      temperature: 0.8,
      topK: 60,
      topP: 0.9,
      minP: 0.01,
      diffusion: { blockLength: 10, steps: 12, remasking: low },
    },
    [5, 5, 2],
  ],
  [
    'no end before its time',
    { minNewTokens: 10, diffusion: { blockLength: 12, steps: 6, remasking: low } },
    [3, 3],
  ],
])('fills %s', (_, change, passes) => {
  it.each([false, true])('as a plain loop does (shifted: %s)', async (shifted) => {
    const options = { ...base, ...change };
    const shape = { maskId: MASK, shifted };
    const other = diffusing(fixture('qwen3', ENDS), shape);
    const groups = await sample(other, all, options, 5);
    for (const [i, group] of groups.entries()) {
      for (const [index, c] of group.entries()) {
        const { ids, keys } = all[i]!;
        const plain = plainDenoise(other, { prompt: ids, keys: [...keys, index], seed: 5 }, options, passes);
        expect(c.region).toEqual({ ids: plain.ids, order: plain.order });
        const end = plain.ids.findIndex((id) => other.endIds.has(id));
        const length = end < 0 ? 24 : end + 1;
        expect([c.ids, c.finishReason]).toEqual([plain.ids.slice(0, length), end < 0 ? 'length' : 'stop']);
        expect(end < 0 || end >= options.minNewTokens).toBe(true);
        expectNear(c.logprobs, plain.logprobs.slice(0, length));
        expectNear(c.sampledLogprobs, plain.sampledLogprobs.slice(0, length));
      }
    }
    other.decoder.dispose();
  });
});

/** Everything about completions but rounding. */
const outcome = (groups: Completion[][]) =>
  groups.map((group) => group.map(({ ids, finishReason, region }) => ({ ids, finishReason, region })));
const options: SamplingOptions = { ...base, diffusion: { blockLength: 8, steps: 9, remasking: low } };

describe('a completion', async () => {
  const together = outcome(await sample(model, all, options, 1));

  it('is the same alone, in another order, in a smaller group and in small lots', async () => {
    for (const i of range(4))
      expect(outcome(await sample(model, [request(i)], options, 1))).toEqual([together[i]]);
    expect(outcome(await sample(model, [...all].reverse(), options, 1))).toEqual([...together].reverse());
    expect(outcome(await sample(model, [request(2, 1)], options, 1))).toEqual([together[2]!.slice(0, 1)]);
    for (const lotBytes of [0, 1e5, 4e5])
      expect(outcome(await sample(model, all, { ...options, lotBytes }, 1))).toEqual(together);
  });

  it('is drawn at a temperature of its own as where all have that one', async () => {
    const temperatures = [0, 0.7, 1.2];
    const mixed = outcome(
      await sample(
        model,
        all.map((one) => ({ ...one, temperatures })),
        options,
        1,
      ),
    );
    for (const [i, temperature] of temperatures.entries()) {
      const equal = outcome(await sample(model, all, { ...options, temperature }, 1));
      expect(mixed.map((group) => group[i])).toEqual(equal.map((group) => group[i]));
    }
  });

  it('is another for another seed, and for another completion of its group', async () => {
    const others = outcome(await sample(model, all, options, 2));
    for (const [i, group] of others.entries()) {
      for (const [j, one] of group.entries()) {
        expect(one.region).not.toEqual(together[i]![j]!.region);
        expect(one.region).not.toEqual(group[(j + 1) % 3]!.region);
      }
    }
  });

  it('ends at times of its own, and keeps what it filled after its end', () => {
    const lengths = new Set(together.flat().map(({ ids }) => ids.length));
    expect(lengths.size).toBeGreaterThan(3);
    for (const { ids, region } of together.flat()) {
      expect(region!.ids.length).toBe(24);
      expect(region!.ids.slice(0, ids.length)).toEqual(ids);
      expect(region!.ids).not.toContain(MASK);
    }
  });
});

describe('log-probs of one step', () => {
  const hidden = (group: Completion[], prompt: number[]) =>
    group.map(({ region }) => ({
      region: region!.ids,
      plan: [{ prompt: new Uint8Array(prompt.length), region: new Uint8Array(24).fill(1), weight: 1 }],
    }));

  it.each(['llada', 'dream', 'a2d-qwen2', 'a2d-qwen3'])(
    'of %s are those that scoring computes with all of the region hidden',
    async (name) => {
      const folder = fixture(name, ENDS);
      const { decoder } = folder;
      const once = { ...base, temperature: 0.9, diffusion: { steps: 1, remasking: low } };
      const groups = await sample(folder, all, once, 1);
      const scored = noGrad(() => {
        const batch = groups.map((group, i) => ({
          prompt: prompts[i]!,
          completions: group.map(({ ids }) => ids),
          masked: hidden(group, prompts[i]!),
        }));
        return scoreTokens(decoder, batch, 0.9).logprobs_T.toNumbers();
      });
      expectNear(
        groups.flat().flatMap(({ logprobs }) => Array.from(logprobs)),
        scored,
      );
      folder.decoder.dispose();
    },
  );
});

const END = 259;
const { tokenizer } = model;
const say = (text: string) => tokenizer.encode(text);

/** One completion of a one-token prompt by a model that says `script`, whatever is hidden. */
async function complete(script: readonly number[], change: Partial<SamplingOptions> = {}) {
  const says = diffusing(scripted(script, [END]), { shifted: true });
  const asked = [{ ids: [0], count: 1, keys: [0] }];
  return (await sample(says, asked, { ...plainSampling, temperature: 0, ...change }, 0))[0]![0]!;
}

describe('a completion ends', () => {
  it('at its first end token, which is not in the text', async () => {
    const script = [...say('four'), END, ...say(' mo'), END];
    const c = await complete(script, { maxNewTokens: 8 });
    expect([c.ids, c.text, c.finishReason]).toEqual([script.slice(0, 5), 'four', 'stop']);
    expect([c.logprobs.length, c.sampledLogprobs.length]).toEqual([5, 5]);
    expect(c.region!.ids).toEqual(script.slice(0, 8));
  });

  it('at a stop string, which stays in the text', async () => {
    const c = await complete(say('<a>4</a> more'), { stop: ['</a>'] });
    expect([c.text, c.finishReason]).toEqual(['<a>4</a>', 'stop']);
  });

  it('at no stop string that was complete before minNewTokens', async () => {
    const c = await complete(say('a##bcde##fg'), { stop: ['##'], minNewTokens: 6 });
    expect([c.text, c.finishReason]).toEqual(['a##bcde##', 'stop']);
  });

  it('where the context is full, filled like the beginning of a whole one', async () => {
    const script = say('abcdefghijklm');
    const c = await complete(script, { diffusion: { blockLength: 8, steps: 128, remasking: low } });
    expect([c.ids, c.finishReason]).toEqual([script.slice(0, -1), 'length']);
    // 256 places in 128 steps: two at a time.
    expect([...c.region!.order].sort((a, b) => a - b)).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
  });
});

describe('a masked-diffusion model', () => {
  it.each([
    { repetitionPenalty: 1.1 },
    { presencePenalty: 0.1 },
    { frequencyPenalty: 0.1 },
    { invariant: true },
  ])('refuses %o', async (change) => {
    await expect(sample(model, all, { ...options, ...change }, 0)).rejects.toThrow(/masked-diffusion model/);
  });

  it('names the place where weights give NaN', async () => {
    const broken = diffusing(fixture('qwen3'));
    noGrad(() => broken.decoder.parameters.get('model.norm.weight')!.fill_(Number.NaN));
    await expect(sample(broken, all, options, 0)).rejects.toThrow(
      /prompt 1, completion 1, token 1: the logits hold NaN/,
    );
  });

  it('computes once what completions of a group have in common: their first step', async () => {
    const sizes = { hidden: [] as number[], logits: [] as number[] };
    const { hidden, logits } = Transformer.prototype;
    vi.spyOn(Transformer.prototype, 'hidden').mockImplementation(function (
      this: Transformer,
      tokens,
      attend,
    ) {
      sizes.hidden.push(tokens.ids_N.numel);
      return hidden.call(this, tokens, attend);
    });
    vi.spyOn(Transformer.prototype, 'logits').mockImplementation(function (this: Transformer, hidden_MD) {
      sizes.logits.push(hidden_MD.size(0));
      return logits.call(this, hidden_MD);
    });
    await sample(model, all, { ...options, diffusion: { blockLength: 8, steps: 3, remasking: low } }, 1);
    vi.restoreAllMocks();
    const whole = prompts.reduce((sum, { length }) => sum + length + 24, 0);
    expect(sizes.hidden).toEqual([whole, 3 * whole, 3 * whole].map((n) => evenRows(n, model.decoder)));
    expect(sizes.logits).toEqual([4 * 8, 12 * 8, 12 * 8]);
  });

  it('reports each layer and each draw, up to all of its work', async () => {
    const seen: StageProgress[] = [];
    await sample(model, all, options, 1, new Watch({ progress: (now) => seen.push(now) }));
    // Nine steps, each with two layers, one draw and its end.
    expect(seen.length).toBe(9 * 4);
    const shares = seen.map(({ share }) => share!);
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect(seen.at(-1)).toMatchObject({ done: 12, total: 12, tokens: 12 * 24, share: 1 });
    expect(seen.map(({ done }) => done).slice(0, -1)).toEqual(Array(35).fill(0));
  });
});
