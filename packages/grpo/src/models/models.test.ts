import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { DEVICE } from '../device.test.helper.js';
import { SafetensorsFile } from '../formats/safetensors.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import type { DecoderConfig } from './config.js';
import { loadModel } from './folder/load.js';
import { saveModel } from './folder/save.js';
import type { Model } from './model.js';
import { packSegments } from './pack-segments.js';
import { parameterSpecs } from './parameters.js';
import type { Segment } from './segment.js';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url));

interface Expected {
  /** Of a masked-diffusion model with the mask token at hidden places. */
  prompts: number[][];
  /** What stands at the hidden places: the prompts with nothing hidden. */
  targets?: number[][];
  greedy?: number[][];
  loss: number;
  predictedTokens: number;
}

const expectedOf = (name: string) =>
  JSON.parse(readFileSync(join(fixture(name), 'expected.json'), 'utf8')) as Expected;

function stored(name: string, tensor: string): Float32Array {
  using file = SafetensorsFile.open(join(fixture(name), 'expected.safetensors'));
  const bytes = file.read(tensor);
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

/** Logits of each sequence on its own place in one pack. */
function logitsOf({ decoder }: Model, sequences: number[][]): Float32Array[] {
  return noGrad(() =>
    tidy(() => {
      const packed = packSegments(
        sequences.map((ids) => ({ ids })),
        decoder.config,
        decoder.device,
      );
      const logits = decoder.logits(decoder.hidden(packed, packed.attend));
      return sequences.map(
        (ids, i) => logits.narrow(0, packed.starts[i]!, ids.length).toTypedArray() as Float32Array,
      );
    }),
  );
}

const maxDifference = (a: Float32Array, b: Float32Array) => {
  expect(a.length).toBe(b.length);
  return a.reduce((max, x, i) => Math.max(max, Math.abs(x - b[i]!)), 0);
};

/** A place whose token counts in the loss: the row of the logits that predicts it, and the token. */
function predictionsOf(config: DecoderConfig, { prompts, targets }: Expected, prompt: number) {
  const { maskId, shifted } = config.diffusion ?? { maskId: undefined, shifted: true };
  const predicted = (place: number) => (targets ? prompts[prompt]![place] === maskId : place > 0);
  return (targets ?? prompts)[prompt]!.flatMap((token, place) =>
    predicted(place) ? [{ row: place - Number(shifted), token }] : [],
  );
}

const causal = [
  ...['gpt2', 'llama3', 'llama3-tied', 'qwen2', 'qwen2-untied', 'qwen3', 'mistral'],
  ...['gemma2', 'gemma3', 'gemma3-scaled', 'smollm3', 'phi3', 'olmo2', 'granite'],
];
const masked = ['a2d-llama', 'a2d-qwen2', 'a2d-qwen3', 'dream', 'llada'];

describe.each([...causal, ...masked])('%s against PyTorch', (name) => {
  const model = loadModel(fixture(name), { device: DEVICE });
  const expected = expectedOf(name);

  it('gives the same logits, all sequences in one pack', () => {
    for (const [i, logits] of logitsOf(model, expected.prompts).entries()) {
      expect(maxDifference(logits, stored(name, `logits.${i}`))).toBeLessThan(2e-5);
    }
  });

  it('gives the same gradients of every parameter', () => {
    const { decoder } = model;
    for (const p of decoder.parameters.values()) p.requiresGrad = true;
    const loss = tidy(() => {
      const packed = packSegments(
        expected.prompts.map((ids) => ({ ids })),
        decoder.config,
        DEVICE,
      );
      const logprobs = decoder.logits(decoder.hidden(packed, packed.attend)).logSoftmax(-1);
      const parts: Tensor[] = expected.prompts.flatMap((_, i) => {
        const predictions = predictionsOf(decoder.config, expected, i);
        if (predictions.length === 0) return [];
        const int64 = (values: number[]) => tensor(values, undefined, { dtype: 'int64', device: DEVICE });
        const rows = int64(predictions.map(({ row }) => packed.starts[i]! + row));
        const targets = int64(predictions.map(({ token }) => token)).unsqueeze(1);
        return [logprobs.indexSelect(0, rows).gather(1, targets).sum()];
      });
      const total = parts.reduce((a, b) => a.add(b)).div(-expected.predictedTokens);
      total.backward();
      return total.item();
    });
    expect(Math.abs(loss - expected.loss)).toBeLessThan(1e-5);
    for (const [parameter, spec] of parameterSpecs(decoder.config)) {
      const gradient = decoder.parameters.get(parameter)!.grad!;
      const ours = (spec.transposed ? gradient.t() : gradient).contiguous().toTypedArray() as Float32Array;
      const theirs = stored(name, `grad.${parameter}`);
      const { cosine, relative } = compare(ours, theirs);
      expect(cosine, parameter).toBeGreaterThanOrEqual(0.99999);
      expect(relative, parameter).toBeLessThanOrEqual(1e-4);
    }
  });
});

describe.each(causal)('%s against PyTorch', (name) => {
  it('gives the same logits for continuations of one shared prompt', () => {
    const model = loadModel(fixture(name), { device: DEVICE });
    const expected = expectedOf(name);
    const whole = expected.prompts[3]!;
    const prompt = whole.slice(0, 11);
    const own = whole.slice(11);
    // The same continuation three times, and shorter ones between: none may see another.
    const segments: Segment[] = [
      { ids: prompt },
      ...[own, own.slice(0, 7), own, own.slice(0, 1), own].map((ids) => ({ ids, parent: 0 })),
    ];
    const logits = noGrad(() =>
      tidy(() => {
        const packed = packSegments(segments, model.decoder.config, DEVICE);
        const all = model.decoder.logits(model.decoder.hidden(packed, packed.attend));
        return segments.map(
          (s, i) => all.narrow(0, packed.starts[i]!, s.ids.length).toTypedArray() as Float32Array,
        );
      }),
    );
    const vocab = model.decoder.config.vocabSize;
    const reference = stored(name, 'logits.3');
    for (const [i, segment] of segments.entries()) {
      const from = i === 0 ? 0 : prompt.length;
      expect(
        maxDifference(logits[i]!, reference.subarray(from * vocab, (from + segment.ids.length) * vocab)),
      ).toBeLessThan(2e-5);
    }
  });
});

function compare(a: Float32Array, b: Float32Array): { cosine: number; relative: number } {
  let [dot, aa, bb, dd] = [0, 0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i]! * b[i]!;
    aa += a[i]! ** 2;
    bb += b[i]! ** 2;
    dd += (a[i]! - b[i]!) ** 2;
  }
  return { cosine: dot / Math.sqrt(aa * bb), relative: Math.sqrt(dd / bb) };
}

describe('model folders', () => {
  it('reads a sharded checkpoint as the whole one', () => {
    const [whole, sharded] = ['llama3', 'llama3-sharded'].map((n) => loadModel(fixture(n)));
    for (const [name, parameter] of whole!.decoder.parameters) {
      expect(sharded!.decoder.parameters.get(name)!.toNumbers(), name).toEqual(parameter.toNumbers());
    }
  });

  it.each(['qwen3-bf16', 'a2d-qwen3-bf16'])(
    'runs %s in bf16 near, and in fp32 exactly, as PyTorch does',
    (name) => {
      const { prompts } = expectedOf(name);
      const narrow = loadModel(fixture(name), { device: DEVICE });
      expect(narrow.decoder.dtype).toBe('bfloat16');
      const wide = loadModel(fixture(name), { dtype: 'float32', device: DEVICE });
      const [bf16, fp32] = [logitsOf(narrow, prompts), logitsOf(wide, prompts)];
      for (const i of prompts.keys()) {
        expect(maxDifference(fp32[i]!, stored(name, `logitsFloat32.${i}`))).toBeLessThan(2e-5);
        // bf16 keeps 8 bits: two right implementations differ by the rounding of each against fp32.
        const lost = maxDifference(stored(name, `logits.${i}`), stored(name, `logitsFloat32.${i}`));
        expect(maxDifference(bf16[i]!, fp32[i]!)).toBeLessThan(2 * lost);
      }
    },
  );

  it.each([...causal, 'qwen3-bf16', 'a2d-qwen3', 'dream', 'llada'])(
    'saves %s so that it loads to the same weights',
    (name) => {
      const dir = tempFolder();
      const model = loadModel(fixture(name));
      saveModel(model, dir);
      const again = loadModel(dir);
      expect([...again.decoder.parameters.keys()]).toEqual([...model.decoder.parameters.keys()]);
      for (const [parameter, value] of model.decoder.parameters) {
        expect(again.decoder.parameters.get(parameter)!.toNumbers()).toEqual(value.toNumbers());
      }
      expect(again.decoder.dtype).toBe(model.decoder.dtype);
      expect(again.endIds).toEqual(model.endIds);
      expect(again.decoder.config).toEqual(model.decoder.config);
    },
  );

  it('writes soft caps as floats, which transformers demands', () => {
    const dir = tempFolder();
    saveModel(loadModel(fixture('gemma2')), dir);
    const config = readFileSync(join(dir, 'config.json'), 'utf8');
    expect(config).toMatch(/"attn_logit_softcapping": 2\.0,\n/);
    expect(config).toMatch(/"final_logit_softcapping": 6\.0,\n/);
    expect(config).toMatch(/"sliding_window": 8,\n/);
  });
});

it('saves the soft caps of Gemma 2 as floats, which transformers demands', () => {
  const dir = tempFolder();
  const model = loadModel(fixture('gemma2'));
  saveModel(model, dir);
  const caps = readFileSync(join(dir, 'config.json'), 'utf8').match(/"\w+_softcapping": .*/g);
  expect(caps).toEqual(['"attn_logit_softcapping": 2.0,', '"final_logit_softcapping": 6.0,']);
});

describe('a packed batch', () => {
  it('has the positions and starts of its segments', () => {
    const { config } = loadModel(fixture('qwen2')).decoder;
    tidy(() => {
      const packed = packSegments(
        [{ ids: [5, 6] }, { ids: [7], parent: 0 }, { ids: [8, 9], parent: 0 }],
        config,
        DEVICE,
      );
      expect(packed.positions_N.toNumbers()).toEqual([0, 1, 2, 2, 3]);
      expect(packed.ids_N.toNumbers()).toEqual([5, 6, 7, 8, 9]);
      expect(packed.starts).toEqual([0, 2, 3]);
    });
  });
});
