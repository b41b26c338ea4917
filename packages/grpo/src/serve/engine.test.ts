import { setImmediate } from 'node:timers/promises';
import { memory, noGrad, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { type LoadedModel, saveModel } from '../models/index.js';
import { initLora } from '../models/lora/init-lora.js';
import { scoreTokens } from '../objective/index.js';
import { plainSampling, sample } from '../rollout/index.js';
import { diffusing, expectedOf, fixture } from '../rollout/rollout.test.helper.js';
import { ServeEngine } from './engine.js';
import type { GenerateRequest } from './generation.js';
import { RequestAborted } from './request-aborted.js';

const { prompts } = expectedOf('qwen3');

function open(options: { maxModelLen?: number } = {}): { model: LoadedModel; engine: ServeEngine } {
  const model = fixture('qwen3');
  const engine = new ServeEngine(model, { name: 'tiny', memoryBytes: 2 ** 26, ...options });
  onTestFinished(() => {
    engine[Symbol.dispose]();
    model.decoder.dispose();
  });
  return { model, engine };
}

const request = (change: Partial<GenerateRequest> = {}): GenerateRequest => ({
  prompt: prompts[1]!,
  count: 3,
  options: { ...plainSampling, maxNewTokens: 12, temperature: 0.8 },
  seed: 7,
  keys: [3, 4],
  ...change,
});

/** A folder with an adapter on the model, whose matrices both hold numbers. */
function adapterFolder(model: LoadedModel, seed: number): string {
  const { decoder } = model;
  const lora = initLora(
    decoder.config,
    { rank: 2, alpha: 8, base: 'tiny' },
    { seed, device: decoder.device },
  );
  for (const x of lora.parameters.values()) noGrad(() => tidy(() => x.fill_(0.02 * seed)));
  const folder = tempFolder();
  saveModel({ ...model, decoder: decoder.withLora(lora) }, folder);
  lora.dispose();
  return folder;
}

/** A folder with the model's weights, each a little larger. */
function weightsFolder(model: LoadedModel): string {
  const decoder = model.decoder.clone();
  for (const x of decoder.parameters.values()) noGrad(() => tidy(() => x.mul_(1.1)));
  const folder = tempFolder();
  saveModel({ ...model, decoder }, folder);
  decoder.dispose();
  return folder;
}

describe('ServeEngine', () => {
  it('gives the completions that the sampler gives', async () => {
    const { model, engine } = open();
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
    const { engine } = open();
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

  it('scores a prompt as training scores a completion, and draws nothing where nothing is asked for', async () => {
    const { model, engine } = open();
    const options = { ...plainSampling, maxNewTokens: 0, temperature: 0.7 };
    const prompt = prompts[2]!;
    const { completions, promptLogprobs } = await engine.generate(
      request({ prompt, options, scorePrompt: true }),
    );
    expect(completions).toEqual([]);
    const group = { prompt: prompt.slice(0, 4), completions: [prompt.slice(4)] };
    const scores = noGrad(() => tidy(() => scoreTokens(model.decoder, [group], 0.7).logprobs_T.toNumbers()));
    expect(promptLogprobs).toHaveLength(prompt.length);
    expect(promptLogprobs![0]).toBeNull();
    for (const [i, score] of scores.entries()) expect(promptLogprobs![i + 4]).toBeCloseTo(score, 5);
  });

  it('samples by the adapter that a request names', async () => {
    const { model, engine } = open();
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
    const { model, engine } = open();
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
    const { model, engine } = open();
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
    const { engine } = open();
    const old = engine.checksum();
    const other = fixture('llama3');
    onTestFinished(() => other.decoder.dispose());
    const folder = tempFolder();
    saveModel(other, folder);
    await expect(engine.updateWeights(folder, 'step-2')).rejects.toThrow('holds a model of another shape');
    expect([engine.checksum(), engine.weightVersion]).toEqual([old, 'default']);
  });

  it('answers nothing while it is paused', async () => {
    const { engine } = open();
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
    const { engine } = open();
    const options = { ...plainSampling, maxNewTokens: 200 };
    const running = engine.generate(request({ options }));
    const rejected = expect(running).rejects.toThrow(RequestAborted);
    while (engine.load.running === 0) await setImmediate();
    await engine.pause('abort');
    await rejected;
    expect(engine.load).toMatchObject({ running: 0, waiting: 0 });
  });

  it('lets go of a request whose client has gone', async () => {
    const { engine } = open();
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
    const { engine } = open({ maxModelLen: 40 });
    await expect(engine.generate(request(change))).rejects.toThrow(message);
  });

  it('ends a completion where the longest sequence ends', async () => {
    const { engine } = open({ maxModelLen: 10 });
    const { completions } = await engine.generate(request());
    expect(completions.map(({ ids, finishReason }) => [ids.length, finishReason])).toEqual([
      [5, 'length'],
      [5, 'length'],
      [5, 'length'],
    ]);
  });

  it('refuses a masked-diffusion model', () => {
    const model = diffusing(fixture('qwen3'));
    onTestFinished(() => model.decoder.dispose());
    expect(() => new ServeEngine(model, { name: 'dream', memoryBytes: 2 ** 26 })).toThrow(
      'dream is a masked-diffusion model: only causal models are served',
    );
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
