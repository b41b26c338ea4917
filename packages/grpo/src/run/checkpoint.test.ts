import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AdamW, type DType, type Tensor, tidy, zeros } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { UserError } from '../errors/user-error.js';
import { writeSafetensors } from '../formats/safetensors.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { loadModel, type Model } from '../models/index.js';
import {
  latestCheckpoint,
  OPTIMIZER,
  readTrainerState,
  restoreOptimizer,
  saveCheckpoint,
} from './folder/checkpoint.js';
import { tinyModel } from './tiny-model.test.helper.js';

const OPTIONS = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 };
const STATE = { step: 3, tokens: 12345678901, best: 0.1 + 0.2 };

function optimizerOf(model: Model): AdamW {
  const optimizer = new AdamW(model.decoder.parameters, OPTIONS);
  onTestFinished(() => optimizer.dispose());
  return optimizer;
}

/** A step whose gradients differ from tensor to tensor and from step to step. */
function train(model: Model, optimizer: AdamW, step: number): void {
  optimizer.accumulate(() =>
    tidy(() => {
      for (const [i, parameter] of [...model.decoder.parameters.values()].entries()) {
        parameter
          .mul(Math.sin(1 + i + 10 * step))
          .sum()
          .backward();
      }
    }),
  );
  optimizer.step(0.01, 1);
}

const bytesOf = (model: Model) =>
  [...model.decoder.parameters].map(([name, tensor]) => [
    name,
    Buffer.from(tensor.toBytes()).toString('base64'),
  ]);

function load(dir: string, dtype: DType): Model {
  const model = loadModel(dir, { dtype });
  for (const parameter of model.decoder.parameters.values()) parameter.requiresGrad = true;
  onTestFinished(() => model.decoder.dispose());
  return model;
}

describe('a checkpoint', () => {
  it.each<DType>(['float32', 'bfloat16'])('resumes a run to the same bytes in %s', async (dtype) => {
    const root = join(tempFolder(), 'checkpoints');
    const model = await tinyModel({ dtype });
    const optimizer = optimizerOf(model);
    for (const step of [0, 1, 2]) train(model, optimizer, step);
    const saved = saveCheckpoint(root, { step: 3, model, optimizer, state: STATE }, 1);
    expect(latestCheckpoint(root)).toEqual(saved);
    for (const step of [3, 4]) train(model, optimizer, step);

    const again = load(saved.dir, dtype);
    const restored = optimizerOf(again);
    restoreOptimizer(saved.dir, restored);
    for (const step of [3, 4]) train(again, restored, step);
    expect(bytesOf(again)).toEqual(bytesOf(model));
    for (const [name, tensor] of restored.state()) {
      expect(Buffer.from(tensor.toBytes()).equals(optimizer.state().get(name)!.toBytes()), name).toBe(true);
    }
    const forgetful = load(saved.dir, dtype);
    const fresh = optimizerOf(forgetful);
    for (const step of [3, 4]) train(forgetful, fresh, step);
    expect(bytesOf(forgetful)).not.toEqual(bytesOf(model));
    expect([...restored.state().keys()].some((name) => name.endsWith('.master'))).toBe(dtype === 'bfloat16');
  });

  it('gives the state back, and names what is wrong with one', async () => {
    const root = tempFolder();
    const model = await tinyModel();
    const content = { step: 3, model, optimizer: optimizerOf(model), state: STATE };
    const { dir } = saveCheckpoint(root, content, 1);
    const schema = z.object({ step: z.number(), tokens: z.number(), best: z.number() });
    expect(readTrainerState(dir, schema)).toEqual(STATE);
    expect(() => readTrainerState(dir, schema.extend({ order: z.string() }))).toThrow(
      /state\.json is not the state of a trainer\.\n.*\n.*order/,
    );
    expect(() => saveCheckpoint(root, { ...content, step: 4, state: { best: Number.NaN } }, 1)).toThrow(
      'best = NaN',
    );
    expect(readdirSync(root)).toEqual(['step-3']);
  });

  it('is refused by the optimizer of another model, which stays as it was', async () => {
    const root = tempFolder();
    const model = await tinyModel();
    const optimizer = optimizerOf(model);
    train(model, optimizer, 0);
    const { dir } = saveCheckpoint(root, { step: 1, model, optimizer, state: {} }, 1);
    const restore = (change: (parameters: Map<string, Tensor>) => void) => {
      const parameters = new Map(model.decoder.parameters);
      change(parameters);
      const other = new AdamW(parameters, OPTIONS);
      onTestFinished(() => other.dispose());
      expect(() => restoreOptimizer(dir, other)).toThrow(UserError);
      for (const [name, tensor] of other.state()) if (name.endsWith('.step')) expect(tensor.item()).toBe(0);
      return () => restoreOptimizer(dir, other);
    };
    const norm = 'model.norm.weight';
    expect(restore((p) => p.delete(norm))).toThrow(`holds '${norm}.mean', which the optimizer does not have`);
    expect(restore((p) => p.set('extra', p.get(norm)!))).toThrow("no tensor 'extra.mean'");
    expect(restore((p) => p.set(norm, p.get('model.embed_tokens.weight')!))).toThrow(
      `'${norm}.mean' is F32 [16], the optimizer's is F32 [262, 16]`,
    );
  });
});

describe('the folder of checkpoints', () => {
  async function folder() {
    const root = join(tempFolder(), 'checkpoints');
    const model = await tinyModel();
    const optimizer = optimizerOf(model);
    const save = (step: number, keep: number, state: object = {}) =>
      saveCheckpoint(root, { step, model, optimizer, state }, keep);
    const saveAfterError = (step: number, keep: number) =>
      saveCheckpoint(root, { step, model, optimizer, state: {}, afterError: true }, keep);
    return { root, save, saveAfterError };
  }
  const names = (root: string) => readdirSync(root).sort();

  it('keeps the newest, by number and not by name', async () => {
    const { root, save } = await folder();
    expect(latestCheckpoint(root)).toBeUndefined();
    for (const step of [2, 9, 10, 11]) save(step, 2);
    expect(names(root)).toEqual(['step-10', 'step-11']);
    expect(latestCheckpoint(root)).toEqual({ dir: join(root, 'step-11'), step: 11, afterError: false });
    // Never the one just written, even if later ones lie about.
    save(5, 1);
    expect(names(root)).toEqual(['step-5']);
  });

  it('keeps one of an error apart: it takes the place of no other, and gives way to the next', async () => {
    const { root, save, saveAfterError } = await folder();
    for (const step of [2, 4]) save(step, 2);
    const { dir } = saveAfterError(5, 1);
    expect(dir).toBe(join(root, 'step-5-error'));
    expect(latestCheckpoint(root)).toEqual({ dir, step: 5, afterError: true });
    saveAfterError(6, 1);
    expect(names(root)).toEqual(['step-2', 'step-4', 'step-6-error']);
    save(8, 2);
    expect(names(root)).toEqual(['step-4', 'step-8']);
  });

  it('replaces a checkpoint of the same step', async () => {
    const { root, save } = await folder();
    save(4, 2, { first: true });
    const { dir } = save(4, 2, { second: true });
    expect(names(root)).toEqual(['step-4']);
    expect(JSON.parse(readFileSync(join(dir, 'trainer/state.json'), 'utf8'))).toEqual({ second: true });
  });

  it('takes no half-written checkpoint for one, and clears it away', async () => {
    const { root, save } = await folder();
    const { dir } = save(1, 2);
    // What a killed run leaves: the temporary folder with a part of the files, never the name.
    const half = join(root, '.tmp-123-0123456789ab');
    mkdirSync(join(half, 'trainer'), { recursive: true });
    writeFileSync(join(half, 'model.safetensors'), 'half');
    mkdirSync(join(root, 'step-7-of-mine'));
    expect(latestCheckpoint(root)?.dir).toBe(dir);
    save(2, 2);
    expect(names(root)).toEqual(['step-1', 'step-2', 'step-7-of-mine']);
  });

  it('leaves the older checkpoint when a new one cannot be written', async () => {
    const { root, save } = await folder();
    save(1, 1);
    // A file in the model's way: its name becomes a folder.
    const model = await tinyModel();
    const blocked: Model = { ...model, files: new Map([['missing/tokenizer.json', new Uint8Array()]]) };
    const optimizer = optimizerOf(model);
    expect(() => saveCheckpoint(root, { step: 2, model: blocked, optimizer, state: {} }, 1)).toThrow(
      'cannot write',
    );
    expect(names(root)).toEqual(['step-1']);
  });

  it('is a model folder like any other, wherever it was moved', async () => {
    const { root, save } = await folder();
    const { dir } = save(1, 1);
    renameSync(dir, join(root, 'mine'));
    rmSync(join(root, 'mine/trainer'), { recursive: true });
    expect(load(join(root, 'mine'), 'float32').decoder.parameters.size).toBeGreaterThan(5);
  });
});

it('restores a tensor that is read in several parts, and refuses one whose last is damaged', () => {
  const dir = tempFolder();
  const optimizer = () => {
    const parameter = zeros([5_000_000]);
    const made = new AdamW(new Map([['w', parameter]]), OPTIONS);
    onTestFinished(() => {
      made.dispose();
      parameter.dispose();
    });
    return made;
  };
  const [saved, restored] = [optimizer(), optimizer()];
  for (const name of ['w.mean', 'w.square']) saved.state().get(name)!.uniform_();
  const path = join(dir, OPTIMIZER);
  mkdirSync(dirname(path));
  const entries = [...saved.state()].map(([name, tensor]) => ({
    name,
    dtype: 'F32' as const,
    shape: tensor.shape,
    data: () => tensor.toBytes(),
  }));
  writeSafetensors(path, entries, {}, { sums: true });
  restoreOptimizer(dir, restored);
  for (const [name, tensor] of saved.state())
    expect(Buffer.compare(restored.state().get(name)!.toBytes(), tensor.toBytes())).toBe(0);
  const bytes = readFileSync(path);
  bytes[bytes.length - 1]! ^= 1;
  writeFileSync(path, bytes);
  expect(() => restoreOptimizer(dir, restored)).toThrow(/its bytes have the CRC-32/);
});
