import { setImmediate } from 'node:timers/promises';
import { memory, noGrad, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { saveModel } from '../models/index.js';
import { scoreTokens } from '../objective/index.js';
import { plainSampling, sample } from '../rollout/index.js';
import { diffusing, fixture } from '../rollout/rollout.test.helper.js';
import { ServeEngine } from './engine.js';
import type { Generated, GenerateRequest } from './generation.js';
import { RequestAborted } from './request-aborted.js';
import { adapterFolder, openEngine, prompts, request, weightsFolder } from './serve.test.helper.js';

describe('ServeEngine', () => {
  it('gives the completions that the sampler gives', async () => {
    const { model, engine } = openEngine();
    const asked = request();
    const { completions, weightVersion } = await engine.generate(asked);
    const sampled = await sample(
      model,
      [{ ids: asked.prompt, count: 3, keys: asked.keys }],
      asked.options,
      asked.seed,
    );
    expect(completions).toEqual(sampled[0]);
    expect(completions[0]!.weights).toBe(engine.checksum());
    expect(weightVersion).toBe('default');
    expect(engine.load).toEqual({ running: 0, waiting: 0, tokens: 36 });
  });

  it('tells each token of each completion in order', async () => {
    const { engine } = openEngine();
    const told: number[][] = [[], [], []];
    const logprobs: number[] = [];
    const onToken: GenerateRequest['onToken'] = (index, token) => {
      told[index]!.push(token.id);
      if (index === 1) logprobs.push(token.logprob);
    };
    const { completions } = await engine.generate(request({ onToken }));
    expect(told).toEqual(completions.map(({ ids }) => ids));
    expect(logprobs).toEqual([...completions[1]!.logprobs]);
  });

  it('scores a prompt as training scores a completion, at temperature 1, and draws nothing where nothing is asked for', async () => {
    const { model, engine } = openEngine();
    const options = { ...plainSampling, maxNewTokens: 0, temperature: 0.7 };
    const prompt = prompts[2]!;
    const { completions, promptLogprobs } = await engine.generate(
      request({ prompt, options, scorePrompt: true }),
    );
    expect(completions).toEqual([]);
    const group = { prompt: prompt.slice(0, 4), completions: [prompt.slice(4)] };
    const scores = noGrad(() => tidy(() => scoreTokens(model.decoder, [group], 1).logprobs_T.toNumbers()));
    expect(promptLogprobs).toHaveLength(prompt.length);
    expect(promptLogprobs![0]).toBeNull();
    for (const [i, score] of scores.entries()) expect(promptLogprobs![i + 4]).toBeCloseTo(score, 5);
  });

  it('samples by the adapter that a request names', async () => {
    const { model, engine } = openEngine();
    for (const seed of [1, 2]) engine.loadAdapter(`step-${seed}`, adapterFolder(model, seed));
    const answers = await Promise.all(
      [undefined, 'step-1', 'step-2'].map((adapter) => engine.generate(request({ adapter }))),
    );
    const logprobs = answers.map(({ completions }) => completions[0]!.logprobs[0]!);
    expect(new Set(logprobs).size).toBe(3);
    const weights = answers.map(({ completions }) => completions[0]!.weights);
    const { adapters } = engine;
    expect(weights).toEqual([
      engine.checksum(),
      adapters.get('step-1')!.checksum,
      adapters.get('step-2')!.checksum,
    ]);
  });

  it('answers what it accepted before an adapter was unloaded, and nothing afterwards', async () => {
    const { model, engine } = openEngine();
    const folder = adapterFolder(model, 1);
    engine.loadAdapter('step-1', folder);
    expect(() => engine.loadAdapter('step-1', folder)).toThrow("named 'step-1' is loaded already");
    const before = engine.generate(request({ adapter: 'step-1' }));
    engine.unloadAdapter('step-1');
    await expect(engine.generate(request({ adapter: 'step-1' }))).rejects.toThrow(
      "no adapter named 'step-1' is loaded",
    );
    expect((await before).completions).toHaveLength(3);
    expect(engine.adapters.size).toBe(0);
  });

  it('samples by new weights what comes after them, and by the old what came before', async () => {
    const { model, engine } = openEngine();
    const old = engine.checksum();
    const before = engine.generate(request());
    while (engine.load.running === 0) await setImmediate();
    const update = engine.updateWeights(weightsFolder(model), 'step-2');
    const after = engine.generate(request());
    await update;
    expect(engine.weightVersion).toBe('step-2');
    expect(engine.checksum()).not.toBe(old);
    expect(await before).toMatchObject({ weightVersion: 'default', completions: [{ weights: old }, {}, {}] });
    expect(await after).toMatchObject({
      weightVersion: 'step-2',
      completions: [{ weights: engine.checksum() }, {}, {}],
    });
  });

  it('keeps its weights where new ones do not fit', async () => {
    const { engine } = openEngine();
    const old = engine.checksum();
    const other = fixture('llama3');
    onTestFinished(() => other.decoder.dispose());
    const folder = tempFolder();
    saveModel(other, folder);
    await expect(engine.updateWeights(folder, 'step-2')).rejects.toThrow('holds a model of another shape');
    expect([engine.checksum(), engine.weightVersion]).toEqual([old, 'default']);
  });

  it('answers nothing while it is paused', async () => {
    const { engine } = openEngine();
    await engine.pause('wait');
    expect(engine.isPaused).toBe(true);
    let answered = false;
    const answer = engine.generate(request()).then(() => {
      answered = true;
    });
    for (let i = 0; i < 20; i++) await setImmediate();
    expect([answered, engine.load.waiting]).toEqual([false, 3]);
    engine.resume();
    await answer;
    expect(engine.isPaused).toBe(false);
  });

  it('rejects what runs when it is paused to abort', async () => {
    const { engine } = openEngine();
    const options = { ...plainSampling, maxNewTokens: 200 };
    const running = engine.generate(request({ options }));
    const rejected = expect(running).rejects.toThrow(RequestAborted);
    while (engine.load.running === 0) await setImmediate();
    await engine.pause('abort');
    await rejected;
    expect(engine.load).toMatchObject({ running: 0, waiting: 0 });
  });

  it('holds what runs when it is paused to keep, and goes on with the same bits', async () => {
    const { model, engine } = openEngine();
    const options = { ...plainSampling, maxNewTokens: 60 };
    const told: number[] = [];
    const answer = engine.generate(request({ options, onToken: (_, { id }) => told.push(id) }));
    while (told.length < 30) await setImmediate();
    await engine.pause('keep');
    await setImmediate();
    const before = told.length;
    for (let i = 0; i < 20; i++) await setImmediate();
    expect([told.length, engine.load.running]).toEqual([before, 3]);
    await expect(engine.updateWeights(weightsFolder(model), 'x')).rejects.toThrow(
      '3 completions are held by a pause of mode keep',
    );
    engine.resume();
    const { prompt, keys, seed } = request();
    const [sampled] = await sample(model, [{ ids: prompt, count: 3, keys }], options, seed);
    expect((await answer).completions).toEqual(sampled);
  });

  it('finishes what runs, and nothing else, before a pause to wait has begun', async () => {
    const { engine } = openEngine();
    const running = engine.generate(request());
    while (engine.load.running === 0) await setImmediate();
    const waiting = engine.generate(request());
    await engine.pause('wait');
    expect(engine.load).toEqual({ running: 0, waiting: 3, tokens: 36 });
    await running;
    engine.resume();
    await waiting;
  });

  it('takes new weights while it is paused', async () => {
    const { model, engine } = openEngine();
    await engine.pause('wait');
    const waiting = engine.generate(request());
    await engine.updateWeights(weightsFolder(model), 'step-2');
    engine.resume();
    expect(await waiting).toMatchObject({ weightVersion: 'step-2' });
  });

  it('rejects what runs where new weights are not to wait', async () => {
    const { model, engine } = openEngine();
    const running = engine.generate(request({ options: { ...plainSampling, maxNewTokens: 200 } }));
    const rejected = expect(running).rejects.toThrow('the request was aborted: the server takes new weights');
    while (engine.load.running === 0) await setImmediate();
    await engine.updateWeights(weightsFolder(model), 'step-2', 'abort');
    await rejected;
    expect(await engine.generate(request())).toMatchObject({ weightVersion: 'step-2' });
  });

  it('lets go of a request whose client has gone', async () => {
    const { engine } = openEngine();
    const gone = new AbortController();
    const running = engine.generate(request({ signal: gone.signal }));
    const rejected = expect(running).rejects.toThrow('gone');
    gone.abort(new Error('gone'));
    await rejected;
    expect((await engine.generate(request())).completions).toHaveLength(3);
  });

  it.each<[string, Partial<GenerateRequest>, string]>([
    ['an empty prompt', { prompt: [] }, 'the prompt has no tokens'],
    ['a prompt without room after it', { prompt: prompts[3]! }, 'the longest sequence of tiny has 40'],
    ['an adapter that is not loaded', { adapter: 'step-9' }, "no adapter named 'step-9'"],
  ])('refuses %s', async (_, change, message) => {
    const { engine } = openEngine({ maxModelLen: 40 });
    await expect(engine.generate(request(change))).rejects.toThrow(message);
  });

  it('ends a completion where the longest sequence ends', async () => {
    const { engine } = openEngine({ maxModelLen: 10 });
    const { completions } = await engine.generate(request());
    expect(completions.map(({ ids, finishReason }) => [ids.length, finishReason])).toEqual([
      [5, 'length'],
      [5, 'length'],
      [5, 'length'],
    ]);
  });

  it('refuses a masked-diffusion model', () => {
    const like = fixture('qwen3');
    const model = diffusing(like);
    onTestFinished(() => {
      like.decoder.dispose();
      model.decoder.dispose();
    });
    expect(() => new ServeEngine(model, { name: 'dream', memoryBytes: 2 ** 26 })).toThrow(
      'dream is a masked-diffusion model: only causal models are served',
    );
  });

  it('rejects what it cannot compute, and answers what comes later', async () => {
    const { model, engine } = openEngine();
    const good = weightsFolder(model, 1);
    await engine.updateWeights(weightsFolder(model, Number.NaN), 'broken');
    await expect(engine.generate(request())).rejects.toThrow('the logits hold NaN or infinity');
    await engine.updateWeights(good, 'mended');
    expect((await engine.generate(request())).completions).toHaveLength(3);
  });

  it('answers what comes while the last completion ends at its first token', async () => {
    const { engine } = openEngine();
    const options = { ...plainSampling, maxNewTokens: 1 };
    let later: Promise<Generated> | undefined;
    const onToken = () => {
      later ??= engine.generate(request({ options }));
    };
    await engine.generate(request({ count: 1, options, onToken }));
    expect((await later!).completions.length).toBeGreaterThan(0);
  });

  it('rejects the request whose listener throws, and no other', async () => {
    const { engine } = openEngine();
    const onToken = () => {
      throw new Error('the socket is closed');
    };
    const [failed, answered] = await Promise.allSettled([
      engine.generate(request({ onToken })),
      engine.generate(request()),
    ]);
    expect([failed.status, answered.status]).toEqual(['rejected', 'fulfilled']);
    expect((failed as PromiseRejectedResult).reason.message).toBe('the socket is closed');
  });

  it('rejects all that is open at its end, and all that comes later', async () => {
    const { engine } = openEngine();
    const open = engine.generate(request());
    const rejected = expect(open).rejects.toThrow('the request was aborted: the server ended');
    while (engine.load.running === 0) await setImmediate();
    engine[Symbol.dispose]();
    await rejected;
    await expect(engine.generate(request())).rejects.toThrow(RequestAborted);
  });

  it('leaves nothing behind', async () => {
    const model = fixture('qwen3');
    onTestFinished(() => model.decoder.dispose());
    const folders = [1, 2].map((seed) => adapterFolder(model, seed));
    const weights = weightsFolder(model);
    const work = async () => {
      const engine = new ServeEngine(model, { name: 'tiny', memoryBytes: 2 ** 26 });
      for (const [i, folder] of folders.entries()) engine.loadAdapter(`a${i}`, folder);
      await Promise.all([
        engine.generate(request()),
        engine.generate(request({ adapter: 'a0', scorePrompt: true })),
        engine.updateWeights(weights, 'x'),
        engine.generate(request({ adapter: 'a1' })),
      ]);
      engine.unloadAdapter('a0');
      engine[Symbol.dispose]();
      await setImmediate();
    };
    // The first pass makes the rotary tables, which stay with the model.
    await work();
    const before = memory();
    await work();
    expect(memory()).toEqual(before);
  });
});
