import { join } from 'node:path';
import { noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { examine } from '../doctor/examine.js';
import { registry } from '../doctor/registry.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { type LoadedModel, loadModel, packSegments, writeRandomWeights } from '../models/index.js';
import { ServeEngine } from '../serve/engine.js';
import { serveHttp } from '../serve/http/serve-http.js';
import { type TinyModelSize, writeArithmeticModelFiles } from '../tasks/arithmetic/arithmetic-model.js';
import { readStepRecord, type StepRecord } from '../trace/index.js';
import { remainsOf, run } from './run.test.helper.js';

/** A model of random weights; of large ones, so that it has opinions. */
async function modelFolder(seed: number, size: Partial<TinyModelSize> = {}): Promise<string> {
  const dir = join(tempFolder(), 'model');
  await writeArithmeticModelFiles(dir, {
    hiddenSize: 16,
    heads: 2,
    layers: 1,
    intermediateSize: 32,
    ...size,
  });
  writeRandomWeights(dir, seed);
  return dir;
}

/** Larger than its student in every way. */
const teacherFolder = () => modelFolder(2, { hiddenSize: 24, heads: 3, layers: 3, intermediateSize: 40 });

const DISTILL = ['preset=distill', 'train.steps=8', 'optimizer.learningRate=1e-2', 'record.every=1'];

const recordAt = async (output: string, step: number): Promise<StepRecord> =>
  await readStepRecord(join(output, 'steps', String(step).padStart(6, '0')));

/** Log-probs over the vocabulary at each token of a completion, in float64. */
function distributions(
  { decoder }: LoadedModel,
  prompt: readonly number[],
  ids: readonly number[],
): number[][] {
  return noGrad(() =>
    tidy(() => {
      const packed = packSegments([{ ids: [...prompt, ...ids] }], decoder.config, 'cpu');
      const rows = tensor(
        Array.from(ids, (_, t) => prompt.length - 1 + t),
        undefined,
        { dtype: 'int64' },
      );
      const logits: Tensor = decoder.logits(decoder.hidden(packed, packed.attend).indexSelect(0, rows));
      const { length: V } = logits.select(0, 0).toNumbers();
      const all = logits.to('float64').logSoftmax(-1).toNumbers();
      return Array.from(ids, (_, t) => all.slice(t * V, (t + 1) * V));
    }),
  );
}

describe('a run with a teacher', () => {
  it('minimizes Σ π (log π − log π_teacher) on its own completions, and comes nearer', async () => {
    const [model, teacher] = [await modelFolder(1), await teacherFolder()];
    const output = join(tempFolder(), 'run');
    const { rows } = await run({
      output,
      settings: [...DISTILL, 'train.steps=40', `model=${model}`, `teacher.model=${teacher}`],
    });
    const record = await recordAt(output, 1);
    const { completions, prompts, updates, advantages } = record;
    expect(advantages!.every((advantage) => advantage === 0)).toBe(true);
    const [policies, teachers] = [loadModel(model), loadModel(teacher)];
    onTestFinished(() => [policies, teachers].forEach(({ decoder }) => void decoder.dispose()));
    const [prompt, ids] = [
      [...prompts!.ids!.subarray(0, prompts!.lengths![0])],
      [...completions!.ids!.subarray(0, completions!.lengths![0])],
    ];
    const [own, its] = [distributions(policies, prompt, ids), distributions(teachers, prompt, ids)];
    const expected = own.map((row, t) =>
      row.reduce((sum, logprob, v) => sum + Math.exp(logprob) * (logprob - its[t]![v]!), 0),
    );
    expect(Math.min(...expected)).toBeGreaterThan(1e-4);
    for (const [t, value] of expected.entries()) expect(updates![0]!.klTerms![t]!).toBeCloseTo(value, 5);
    const kls = rows.map((row) => row.kl as number);
    expect(kls.at(-1)!).toBeLessThan(kls[0]! / 2);
  });

  it('finds nothing wrong with itself, resumes to the byte, and is refused with another teacher', async () => {
    const [model, teacher] = [await modelFolder(1), await teacherFolder()];
    const settings = [...DISTILL, `model=${model}`, `teacher.model=${teacher}`];
    const [whole, stopped] = [join(tempFolder(), 'run'), join(tempFolder(), 'run')];
    await run({ output: whole, settings });
    await run({ output: stopped, settings, stopAfter: 3 });
    const other = [...DISTILL, `model=${model}`, `teacher.model=${model}`];
    await expect(run({ output: stopped, settings: other, resume: true })).rejects.toThrow(/teacher\.model/);
    await run({ output: stopped, settings, resume: true });
    expect(remainsOf(stopped)).toEqual(remainsOf(whole));
    const records = await Promise.all([1, 2, 8].map((step) => recordAt(whole, step)));
    expect(records[0]!.audit!.comparisons.map(({ quantity }) => quantity)).toContain(
      'log-prob of the reference',
    );
    const { findings } = examine({ records }, registry);
    // The reward of these runs is paid for odd things, and canaries find it.
    const others = findings.filter(
      ({ severity, fault }) => severity !== 'inform' && fault !== 'B21' && fault !== 'B26',
    );
    expect(others).toEqual([]);
  });

  it('asks a server for its log-probs: those of the folder', async () => {
    const [model, teacher] = [await modelFolder(1), await teacherFolder()];
    const loaded = loadModel(teacher);
    const engine = new ServeEngine(loaded, { name: 'teacher', memoryBytes: 2 ** 28 });
    const server = await serveHttp(engine, {
      name: 'teacher',
      folder: teacher,
      weightFolders: [],
      log: () => {},
      host: '127.0.0.1',
      port: 0,
    });
    onTestFinished(async () => {
      engine[Symbol.dispose]();
      await server.close(1000);
      loaded.decoder.dispose();
    });
    const settings = [...DISTILL, 'train.steps=2', 'kl.estimator=k2', `model=${model}`];
    const [own, served] = [join(tempFolder(), 'own'), join(tempFolder(), 'served')];
    await run({ output: own, settings: [...settings, `teacher.model=${teacher}`] });
    const asked = [...settings, 'teacher.engine=vllm', `teacher.url=${server.url}`];
    const { notes } = await run({ output: served, settings: asked });
    expect(notes.join('\n')).toMatch(/scored by the teacher teacher on 127\.0\.0\.1:\d+ \(grpo /);
    for (const step of [1, 2]) {
      const [a, b] = [await recordAt(own, step), await recordAt(served, step)];
      expect(b.completions!.ids).toEqual(a.completions!.ids);
      const far = a.scored!.referenceLogprobs!.map((value, t) =>
        Math.abs(value - b.scored!.referenceLogprobs![t]!),
      );
      expect(Math.max(...far)).toBeLessThan(1e-5);
    }
    await server.close(1000);
    const again = run({
      output: join(tempFolder(), 'run'),
      settings: [...asked, 'rollout.timeoutSeconds=1'],
    });
    await expect(again).rejects.toThrow(/the teacher on 127\.0\.0\.1:\d+: no connection/);
  });

  it.each([
    [
      'another tokenizer',
      { family: 'a2d-qwen2' as const },
      /has another tokenizer than the model that is trained/,
    ],
  ])('refuses a teacher with %s', async (_, size, message) => {
    const settings = [
      ...DISTILL,
      `model=${await modelFolder(1)}`,
      `teacher.model=${await modelFolder(2, size)}`,
    ];
    await expect(run({ output: join(tempFolder(), 'run'), settings })).rejects.toThrow(message);
  });
});
