import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { loadModel, readModelFolder } from '../models/index.js';
import { ServeEngine } from '../serve/engine.js';
import { serveHttp } from '../serve/http/serve-http.js';
import { rewarding } from '../step/step.test.helper.js';
import { planMemory } from './memory-plan.js';
import { halfOfTheTokens, type RunOptions, run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

/** Serves a model by `grpo serve`'s parts until the test ends. */
async function serve(path: string, weights: string) {
  const model = loadModel(path, { dtype: 'float32' });
  const engine = new ServeEngine(model, { name: 'base', memoryBytes: 2 ** 28 });
  const lines: string[] = [];
  const server = await serveHttp(engine, {
    name: 'base',
    folder: path,
    weightFolders: [weights],
    log: (line) => lines.push(line),
    host: '127.0.0.1',
    port: 0,
  });
  onTestFinished(async () => {
    engine[Symbol.dispose]();
    await server.close(1000);
    model.decoder.dispose();
  });
  return { url: server.url, engine, lines };
}

const COMMON = ['train.steps=2', 'optimizer.learningRate=0.05', 'rollout.invariant=true', 'eval.before=true'];

const completionsOf = (output: string) =>
  readFileSync(join(output, 'completions.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const { prompt, completion, reward } = JSON.parse(line);
      return { prompt, completion, reward };
    });

describe('a run with servers', () => {
  it.each([
    ['vllm', ['lora.rank=2']],
    ['sglang', ['lora.rank=2']],
    ['sglang', []],
    ['vllm', ['lora.rank=2', 'rollout.topK=30', 'rollout.topP=0.9', 'kl.beta=0.05']],
    ['sglang', ['rollout.minP=0.02', 'rollout.temperature=0.8', 'objective.oldLogprobs=sampler']],
  ])('by %s samples with the weights of each step %j', async (engine, more) => {
    const model = await tinyModelFolder();
    const weights = realpathSync(tempFolder());
    const served = await serve(model, weights);
    const options = (output: string, settings: string[]): RunOptions => ({
      output,
      settings: [`model=${model}`, ...COMMON, ...more, ...settings],
      stages: { score: halfOfTheTokens },
    });
    const root = tempFolder();
    const [own, remote] = [join(root, 'own'), join(root, 'remote')];
    await run(options(own, []));
    const servers = [
      `rollout.engine=${engine}`,
      `rollout.urls=[${served.url}]`,
      `rollout.weightsFolder=${weights}`,
    ];
    const { notes, end } = await run(options(remote, servers));
    expect(completionsOf(remote)).toEqual(completionsOf(own));
    expect(end.after).toBeDefined();
    expect(notes.join('\n')).toMatch(/Completions are sampled by \S*127\.0\.0\.1:\d+ \(grpo \S+\)\./);
    const loads = served.lines.filter((line) => / (is|are) loaded from /.test(line));
    expect(loads.map((line) => /step-\d/.exec(line)?.[0])).toEqual(['step-0', 'step-1', 'step-2']);
    expect(served.engine.adapters.size).toBe(0);
  });

  it('gives its weights again when it is resumed', async () => {
    const model = await tinyModelFolder();
    const weights = realpathSync(tempFolder());
    const served = await serve(model, weights);
    const output = join(tempFolder(), 'run');
    const settings = [
      `model=${model}`,
      ...COMMON,
      'lora.rank=2',
      'checkpoint.every=1',
      'rollout.engine=vllm',
      `rollout.urls=[${served.url}]`,
      `rollout.weightsFolder=${weights}`,
    ];
    await run({ output, settings, stages: { score: halfOfTheTokens }, stopAfter: 1 });
    served.lines.length = 0;
    await run({ output, settings, stages: { score: halfOfTheTokens }, resume: true });
    expect(served.lines.find((line) => / loaded from /.test(line))).toMatch(/step-1/);
  });

  it('hands the weights over after each step, though a checksum of a part of them may not have changed', async () => {
    const model = await tinyModelFolder();
    const weights = realpathSync(tempFolder());
    const served = await serve(model, weights);
    const settings = [
      `model=${model}`,
      ...COMMON,
      'lora.rank=2',
      'rollout.engine=vllm',
      `rollout.urls=[${served.url}]`,
      `rollout.weightsFolder=${weights}`,
    ];
    // Equal rewards change no weight.
    await run({ output: join(tempFolder(), 'run'), settings, stages: { score: rewarding(() => 0.5) } });
    const loads = served.lines.filter((line) => / loaded from /.test(line));
    expect(loads.map((line) => /step-\d/.exec(line)?.[0])).toEqual(['step-0', 'step-1', 'step-2']);
  });

  it('plans no memory for completions of its own', async () => {
    const model = await tinyModelFolder();
    const shape = readModelFolder(model);
    const problems = [{ prompt: 'a b c', row: {} }] as never;
    const plan = (...more: string[]) => {
      const settings = [
        `model=${model}`,
        'task.name=arithmetic',
        'memory=4GB',
        'rollout.maxNewTokens=40',
        ...more,
      ];
      const { phases } = planMemory(resolveConfig({ command: 'train', settings }), shape, {
        train: problems,
        eval: problems,
      });
      const { parts } = phases.find(({ name }) => name === 'rollout')!;
      return {
        names: phases.map(({ name }) => name),
        cache: parts.find(({ name }) => /cache/.test(name))!.bytes,
      };
    };
    const remote = plan('rollout.engine=sglang', 'rollout.urls=[http://a:1]');
    expect(remote.names).not.toContain('evaluation');
    expect(remote.cache).toBeLessThan(plan().cache / 10);
  });
});
