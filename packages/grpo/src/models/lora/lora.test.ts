import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memory, noGrad, type Tensor, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SafetensorsFile } from '../../formats/safetensors.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import type { Decoder } from '../decoder.js';
import { type LoadOptions, loadModel } from '../folder/load.js';
import { saveModel } from '../folder/save.js';
import type { LoadedModel, Model } from '../model.js';
import { packSegments } from '../pack-segments.js';
import { mergeLora } from './merge-lora.js';

const fixtures = fileURLToPath(new URL('../../../../../parity/fixtures/', import.meta.url));
const base = (name: string) => join(fixtures, 'models', name);
const adapter = (name: string) => join(fixtures, 'lora', name);

function load(folder: string, options: LoadOptions = {}): LoadedModel {
  const model = loadModel(folder, options);
  onTestFinished(() => model.decoder.dispose());
  return model;
}

/** Values that PEFT computed with one of its adapters. */
function expectedOf(name: string) {
  const file = SafetensorsFile.open(join(adapter(name), 'expected.safetensors'));
  onTestFinished(() => file.close());
  const floats = (tensor: string) => {
    const bytes = file.read(tensor);
    return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  };
  const sequences = [0, 1].map((i) => {
    const bytes = file.read(`ids.${i}`);
    return Array.from(new BigInt64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8), Number);
  });
  return {
    sequences,
    logits: (i: number) => floats(`logits.${i}`),
    gradient: (m: string) => floats(`grad.${m}`),
  };
}

const forward = (decoder: Decoder, ids: readonly number[]): Tensor => {
  const packed = packSegments([{ ids }], decoder.config, 'cpu');
  return decoder.logits(decoder.hidden(packed, packed.attend));
};
const logitsOf = (decoder: Decoder, ids: readonly number[]): Float32Array =>
  noGrad(() => tidy(() => new Float32Array(forward(decoder, ids).toTypedArray() as Float32Array)));

function furthest(a: Float32Array, b: Float32Array): number {
  expect(a.length).toBe(b.length);
  return a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i]!)), 0);
}

function cosine(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array) => x.reduce((sum, v, i) => sum + v * y[i]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

const IDS = [5, 17, 3, 99, 200, 41];
const FRESH = { rank: 2, alpha: 4, seed: 7 };

describe.each(['gpt2', 'llama3', 'gemma3', 'phi3'])('an adapter of PEFT on %s', (name) => {
  it('gives the same logits and gradients', () => {
    const { decoder } = load(base(name), { lora: { adapter: adapter(name) } });
    const { sequences, logits, gradient } = expectedOf(name);
    const plain = decoder.withLora();
    for (const [i, ids] of sequences.entries()) {
      expect(furthest(logitsOf(decoder, ids), logits(i))).toBeLessThan(2e-5);
      expect(furthest(logitsOf(plain, ids), logits(i))).toBeGreaterThan(0.2);
    }
    for (const parameter of decoder.trainable.values()) parameter.requiresGrad = true;
    tidy(() => {
      const losses = sequences.map((ids) => {
        const rows = forward(decoder, ids.slice(0, -1)).logSoftmax(-1);
        return rows
          .gather(1, packSegments([{ ids: ids.slice(1) }], decoder.config, 'cpu').ids_N.unsqueeze(1))
          .sum();
      });
      const tokens = sequences.reduce((sum, ids) => sum + ids.length - 1, 0);
      losses
        .reduce((a, b) => a.add(b))
        .div(-tokens)
        .backward();
    });
    const count = { gpt2: 16, llama3: 28, gemma3: 2 * (3 * 7 - 4), phi3: 24 }[name];
    expect(decoder.trainable.size).toBe(count);
    for (const [matrix, parameter] of decoder.trainable) {
      const ours = parameter.grad!.contiguous().toTypedArray() as Float32Array;
      expect(cosine(ours, gradient(matrix)), matrix).toBeGreaterThanOrEqual(0.99999);
      const size = gradient(matrix).reduce((most, x) => Math.max(most, Math.abs(x)), 0);
      expect(furthest(ours, gradient(matrix)), matrix).toBeLessThan(1e-4 * size);
    }
    for (const parameter of decoder.parameters.values()) expect(parameter.grad).toBeNull();
  });

  it('is the same once merged into the weights', () => {
    const { decoder } = load(base(name), { lora: { adapter: adapter(name) } });
    const { sequences, logits } = expectedOf(name);
    const merged = mergeLora(decoder);
    expect(merged.lora).toBeUndefined();
    for (const [i, ids] of sequences.entries())
      expect(furthest(logitsOf(merged, ids), logits(i))).toBeLessThan(2e-5);
  });

  it('is written as it was read, and loads by the model that it names', () => {
    const model = load(base(name), { lora: { adapter: adapter(name) } });
    const dir = tempFolder();
    saveModel(model, dir);
    const json = (folder: string) => JSON.parse(readFileSync(join(folder, 'adapter_config.json'), 'utf8'));
    const { base_model_name_or_path: named, ...own } = json(dir);
    expect(named).toBe(base(name));
    // What was excluded is left out of the names.
    const { target_modules: targets, ...rest } = own;
    const isExcluding = json(adapter(name)).exclude_modules !== null;
    expect(json(adapter(name))).toMatchObject(isExcluding ? rest : own);
    expect(targets).toHaveLength(isExcluding ? model.decoder.trainable.size / 2 : targets.length);
    using ours = SafetensorsFile.open(join(dir, 'adapter_model.safetensors'));
    using theirs = SafetensorsFile.open(join(adapter(name), 'adapter_model.safetensors'));
    expect([...ours.tensors.keys()].sort()).toEqual([...theirs.tensors.keys()].sort());
    for (const [tensor, { dtype, shape }] of theirs.tensors) {
      expect(ours.tensors.get(tensor)).toMatchObject({ dtype, shape });
      expect(Buffer.from(ours.read(tensor)).equals(theirs.read(tensor)), tensor).toBe(true);
    }
    const again = load(dir);
    expect(logitsOf(again.decoder, IDS)).toEqual(logitsOf(model.decoder, IDS));
    expect(again.tokenizer.vocabSize).toBe(model.tokenizer.vocabSize);
  });
});

describe('fresh adapters', () => {
  it('change nothing yet, and are those of the seed', () => {
    const plain = load(base('qwen2'));
    const [one, same, other] = [7, 7, 8].map((seed) => load(base('qwen2'), { lora: { ...FRESH, seed } }));
    expect(logitsOf(one!.decoder, IDS)).toEqual(logitsOf(plain.decoder, IDS));
    const numbers = ({ decoder }: Model) => [...decoder.trainable.values()].map((p) => p.toNumbers());
    expect(numbers(one!)).toEqual(numbers(same!));
    expect(numbers(one!)).not.toEqual(numbers(other!));
  });

  it('begin as those of PEFT: A uniform within 1/√in, B zero', () => {
    const { decoder } = load(base('llama3'), { lora: { ...FRESH, rank: 64 } });
    const { config } = decoder;
    for (const [name, parameter] of decoder.trainable) {
      const values = parameter.toNumbers();
      if (name.endsWith('lora_B.weight')) expect(values.every((x) => x === 0)).toBe(true);
      else {
        const bound = 1 / Math.sqrt(parameter.size(1));
        expect(parameter.size(0)).toBe(64);
        expect(Math.max(...values.map(Math.abs))).toBeLessThanOrEqual(bound);
        const spread = Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);
        expect(spread / (bound / Math.sqrt(3))).toBeCloseTo(1, 1);
      }
    }
    expect(decoder.trainable.size).toBe(2 * 7 * config.layers);
  });

  it('sit on the chosen layers only, and nowhere else', () => {
    const { decoder } = load(base('llama3'), { lora: { ...FRESH, targets: ['v_proj', 'mlp.up_proj'] } });
    expect([...decoder.trainable.keys()].filter((name) => name.endsWith('A.weight'))).toEqual(
      [0, 1].flatMap((i) => [
        `model.layers.${i}.self_attn.v_proj.lora_A.weight`,
        `model.layers.${i}.mlp.up_proj.lora_A.weight`,
      ]),
    );
    expect(() => loadModel(base('llama3'), { lora: { ...FRESH, targets: ['q_proj', 'c_attn'] } })).toThrow(
      "lora.targets: this model has no layer 'c_attn'",
    );
  });

  it('are float32 on bfloat16 weights, and add in float32', () => {
    const { decoder } = load(base('llama3'), { dtype: 'bfloat16', lora: { adapter: adapter('llama3') } });
    expect(new Set([...decoder.trainable.values()].map(({ dtype }) => dtype))).toEqual(new Set(['float32']));
    const name = 'model.layers.0.mlp.up_proj';
    const { sum, expected } = tidy(() => {
      const x = decoder.parameters.get('model.embed_tokens.weight')!.narrow(0, 0, 4);
      const y = x.matmul(decoder.parameters.get(`${name}.weight`)!.t());
      const wide = y.to('float32').add(x.to('float32').matmul(decoder.lora!.of(name)!.product().t()));
      const sum = decoder.lora!.of(name)!.addTo(y, x);
      expect(sum.dtype).toBe('bfloat16');
      return { sum: sum.to('float32').toNumbers(), expected: wide.toNumbers() };
    });
    // Rounded once: by half a unit of bfloat16's eighth bit at most.
    for (const [i, value] of sum.entries())
      expect(Math.abs(value - expected[i]!)).toBeLessThanOrEqual(2 ** -8 * Math.abs(expected[i]!));
  });
});

describe('the same decoder with its adapters off', () => {
  it('takes no memory of its own', () => {
    const model = load(base('llama3'), { lora: { adapter: adapter('llama3') } });
    const before = memory().bytes;
    const off = model.decoder.withLora();
    expect(memory().bytes).toBe(before);
    const plain = load(base('llama3'));
    expect(logitsOf(off, IDS)).toEqual(logitsOf(plain.decoder, IDS));
    expect(logitsOf(model.decoder, IDS)).not.toEqual(logitsOf(plain.decoder, IDS));
  });
});

describe('dropout', () => {
  it('is there while it is asked for, the same for the same seed, and right on average', () => {
    const { decoder } = load(base('llama3'), { lora: { adapter: adapter('llama3') } });
    const own = logitsOf(decoder, IDS);
    const dropped = (seed: number, share = 0.3) => {
      using _scope = decoder.lora!.dropping(share, seed);
      return logitsOf(decoder, IDS);
    };
    expect(dropped(1)).toEqual(dropped(1));
    expect(dropped(1)).not.toEqual(dropped(2));
    expect(dropped(1)).not.toEqual(own);
    expect(dropped(1, 0)).toEqual(own);
    expect(logitsOf(decoder, IDS)).toEqual(own);
    // One layer, whose output is linear in the dropped inputs.
    const name = 'model.layers.0.mlp.up_proj';
    const rounds = 2000;
    const [mean, plain] = noGrad(() =>
      tidy(() => {
        const x = decoder.parameters.get('model.embed_tokens.weight')!.narrow(0, 0, 1);
        const layer = decoder.lora!.of(name)!;
        const delta = () => layer.addTo(x.matmul(layer.product().t()).mul(0), x);
        const alone = delta().toNumbers();
        using _scope = decoder.lora!.dropping(0.3, 5);
        const sum = alone.map(() => 0);
        for (let i = 0; i < rounds; i++)
          for (const [j, v] of tidy(() => delta().toNumbers()).entries()) sum[j]! += v;
        return [sum.map((v) => v / rounds), alone];
      }),
    );
    const size = Math.sqrt(plain!.reduce((s, v) => s + v * v, 0));
    const error = Math.sqrt(mean!.reduce((s, v, i) => s + (v - plain![i]!) ** 2, 0));
    expect(error / size).toBeLessThan(0.1);
  });
});
