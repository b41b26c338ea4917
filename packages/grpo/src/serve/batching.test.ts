import { setImmediate } from 'node:timers/promises';
import { memory } from '@grpo/torch';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DEVICE } from '../device.test.helper.js';
import { seedOf, uniform } from '../maths/random.js';
import { layoutBytes } from '../memory/holdings.js';
import { servingBytes } from '../memory/serving.js';
import { DecodingDecoder, type Model } from '../models/index.js';
import { Transformer } from '../models/transformer.js';
import { type Completion, plainSampling, type SamplingOptions, sample } from '../rollout/index.js';
import { fixture, range } from '../rollout/rollout.test.helper.js';
import type { ServeEngine } from './engine.js';
import type { GenerateRequest } from './generation.js';
import { adapterFolder, openEngine, prompts, request } from './serve.test.helper.js';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Bytes in which so many completions of 40 tokens find room, each with a prompt of 40. */
function bytesFor({ decoder: { config, engine } }: Model, completions: number): number {
  const prompt = { length: 40, count: 1, newTokens: 40, adjusted: true };
  const lot = servingBytes(config, engine, Array<typeof prompt>(completions).fill(prompt));
  return layoutBytes(config, engine.size) + 1.25 * lot;
}

/** Ways to draw, among which requests choose. */
const draws: Partial<SamplingOptions>[] = [
  {},
  { temperature: 0.7 },
  { temperature: 0 },
  { topP: 0.8, minNewTokens: 4 },
  { topK: 5, temperature: 1.3 },
  { repetitionPenalty: 1.2, presencePenalty: 0.3, frequencyPenalty: 0.1 },
  { minP: 0.05, minNewTokens: 9 },
];

const END_IDS = range(20);

/** The requests of a test, each with the turn of the event loop at which it comes. */
function arrivals(seed: number, invariant: boolean): { at: number; asked: GenerateRequest }[] {
  return range(24).map((i) => {
    const chosen = (key: number, end: number) => Math.floor(end * uniform(seed, i, key));
    return {
      at: chosen(0, 60),
      asked: {
        prompt: prompts[chosen(1, prompts.length)]!,
        count: 1 + chosen(2, 4),
        options: {
          ...plainSampling,
          ...draws[chosen(3, draws.length)],
          maxNewTokens: 1 + chosen(4, 40),
          invariant,
        },
        seed: seedOf(seed, i),
        keys: [i, 5],
        adapter: [undefined, undefined, 'a', 'b'][chosen(5, 4)],
      },
    };
  });
}

/** The answers of an engine to requests that come in the course of time. */
function answersTo(engine: ServeEngine, requests: ReturnType<typeof arrivals>): Promise<Completion[][]> {
  return Promise.all(
    requests.map(async ({ at, asked }) => {
      for (let turn = 0; turn < at; turn++) await setImmediate();
      return (await engine.generate(asked)).completions;
    }),
  );
}

/** The completions that the sampler gives to a request alone. */
async function sampledAlone(model: Model, { prompt, count, keys, options, seed }: GenerateRequest) {
  return (await sample(model, [{ ids: prompt, count, keys }], options, seed))[0]!;
}

const tiny = fixture('qwen3');

describe('requests that come in the course of time', () => {
  const open = (completions: number) => {
    const { model, engine } = openEngine({ memoryBytes: bytesFor(tiny, completions) }, END_IDS);
    const folders = { a: adapterFolder(model, 1), b: adapterFolder(model, 2) };
    for (const [name, folder] of Object.entries(folders)) engine.loadAdapter(name, folder);
    return { model, engine };
  };

  const alone = async (asked: GenerateRequest) => {
    const { model, engine } = open(1000);
    if (asked.adapter === undefined) return sampledAlone(model, asked);
    return (await engine.generate(asked)).completions;
  };

  // A tight memory lets most of them wait.
  it.runIf(DEVICE === 'cpu').each([
    [1, 1000],
    [2, 1000],
    [3, 4],
    [4, 8],
  ])(
    'are answered with the bits that each gets alone, if they are invariant: seed %d, room for %d',
    async (seed, completions) => {
      const requests = arrivals(seed, true);
      const answers = await answersTo(open(completions).engine, requests);
      for (const [i, { asked }] of requests.entries()) expect(answers[i]).toEqual(await alone(asked));
    },
  );

  it('are answered with the log-probs that each gets alone but for rounding', async () => {
    const requests = arrivals(5, false);
    const answers = await answersTo(open(1000).engine, requests);
    for (const [i, { asked }] of requests.entries())
      for (const [j, completion] of (await alone(asked)).entries()) {
        const { ids, logprobs, finishReason } = answers[i]![j]!;
        expect([ids, finishReason]).toEqual([completion.ids, completion.finishReason]);
        for (const [k, x] of logprobs.entries()) expect(x).toBeCloseTo(completion.logprobs[k]!, 4);
      }
  });

  it('do not see that others leave', async () => {
    const { model, engine } = openEngine();
    const gone = new AbortController();
    const options = { ...plainSampling, maxNewTokens: 60, invariant: DEVICE === 'cpu' };
    const leaving = [1, 2, 3].map((i) =>
      engine
        .generate(request({ prompt: prompts[i]!, options, signal: gone.signal }))
        .catch((error: Error) => error.message),
    );
    const running: number[] = [];
    const onToken = () => {
      running.push(engine.load.running);
      if (running.length === 30) gone.abort(new Error('gone'));
    };
    const staying = engine.generate(request({ options, seed: 8, onToken }));
    expect(await Promise.all(leaving)).toEqual(['gone', 'gone', 'gone']);
    const { completions } = await staying;
    expect(completions).toEqual(await sampledAlone(model, request({ options, seed: 8 })));
    // Ten tokens of three completions each, then of these alone.
    expect([running[29], running[33]]).toEqual([12, 3]);
  });
});

describe('a batch', () => {
  it('takes one pass per token, whatever requests its rows are from', async () => {
    const { engine } = openEngine();
    const pass = vi.spyOn(DecodingDecoder.prototype, 'logits');
    await Promise.all(range(8).map((seed) => engine.generate(request({ seed }))));
    // The first token comes with the prompts.
    expect(pass).toHaveBeenCalledTimes(12);
    expect(engine.load.tokens).toBe(8 * 3 * 12);
  });

  it('lets the process do other work between two tokens', async () => {
    const { engine } = openEngine();
    let turns = 0;
    let running = true;
    const other = async () => {
      for (; running; turns++) await setImmediate();
    };
    void other();
    const tokens = 100;
    await engine.generate(request({ count: 1, options: { ...plainSampling, maxNewTokens: tokens } }));
    running = false;
    expect(turns).toBeGreaterThan(tokens - 5);
  });

  it('computes many prompts in parts, and lets others grow in between', async () => {
    const { engine } = openEngine();
    const sizes: number[] = [];
    const compute = Transformer.prototype.hidden;
    vi.spyOn(Transformer.prototype, 'hidden').mockImplementation(function (this: Transformer, ...args) {
      sizes.push(args[0].ids_N.numel);
      return compute.apply(this, args);
    });
    const told: number[] = [];
    const options = { ...plainSampling, maxNewTokens: 3 };
    await Promise.all(
      range(30).map((seed) => {
        const prompt = range(100).map((i) => i % 90);
        const onToken = () => void told.push(seed);
        return engine.generate(request({ seed, prompt, count: 1, options, onToken }));
      }),
    );
    // By the weights as they are laid out for decoding, which need no even rows.
    expect(sizes.filter((size) => size >= 100)).toEqual([2000, 1000]);
    // The first have their second token before the last have their first.
    expect(told.lastIndexOf(0, told.indexOf(29))).toBeGreaterThan(told.indexOf(19));
  });

  it('never takes more memory than it was given, and begins in order', async () => {
    const memoryBytes = bytesFor(tiny, 9);
    const { engine } = openEngine({ memoryBytes });
    await engine.generate(request({ count: 1 }));
    engine.checksum();
    const held = memory().bytes;
    const order: number[] = [];
    let [most, waiting] = [0, 0];
    await Promise.all(
      range(12).map((i) => {
        const onToken = () => {
          most = Math.max(most, memory().bytes - held);
          waiting = Math.max(waiting, engine.load.waiting);
          if (!order.includes(i)) order.push(i);
        };
        return engine.generate(request({ seed: i, count: 4, prompt: prompts[i % 4]!, onToken }));
      }),
    );
    expect(order).toEqual(range(12));
    expect(waiting).toBeGreaterThan(8);
    expect(most).toBeGreaterThan(memoryBytes / 4);
    expect(most).toBeLessThan(memoryBytes);
  });

  it('splits a request that does not fit at once', async () => {
    const { model, engine } = openEngine({ memoryBytes: bytesFor(tiny, 2) });
    const asked = request({ count: 40 });
    let most = 0;
    const onToken = () => {
      most = Math.max(most, engine.load.running);
    };
    const { completions } = await engine.generate({ ...asked, onToken });
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThan(40);
    const sampled = await sampledAlone(model, asked);
    expect(completions.map(({ ids }) => ids)).toEqual(sampled.map(({ ids }) => ids));
  });

  it('refuses what can never fit', async () => {
    const { engine } = openEngine({ memoryBytes: bytesFor(tiny, 1) });
    const options = { ...plainSampling, maxNewTokens: 120 };
    await expect(engine.generate(request({ options }))).rejects.toThrow(
      /^a prompt of 5 tokens with a completion of up to 120 needs .*, the server has .* for completions$/,
    );
    expect((await engine.generate(request())).completions).toHaveLength(3);
  });

  it('holds as many tensors after a thousand requests as after one', async () => {
    const { model, engine } = openEngine({}, END_IDS);
    engine.loadAdapter('a', adapterFolder(model, 1));
    const ask = (i: number) =>
      engine.generate(
        request({
          seed: i,
          prompt: prompts[i % 4]!,
          count: 1 + (i % 2),
          options: { ...plainSampling, maxNewTokens: 3 },
          adapter: i % 5 === 0 ? 'a' : undefined,
          scorePrompt: i % 7 === 0,
        }),
      );
    await Promise.all([ask(0), ask(1)]);
    const before = memory();
    for (let i = 0; i < 1000; i += 50) await Promise.all(range(50).map((j) => ask(i + j)));
    await setImmediate();
    expect(memory()).toEqual(before);
  });
});
