import { fileURLToPath } from 'node:url';
import { AdamW, type DType, memory, type Tensor, tidy, tokenScores } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEVICE } from '../device.test.helper.js';
import type { Decoder } from './decoder.js';
import { loadModel } from './folder/load.js';
import { packSegments } from './pack-segments.js';
import { openPass, type Pass } from './recompute.js';
import type { Segment } from './segment.js';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url));
const FAMILIES = [
  ...['gpt2', 'llama3', 'llama3-tied', 'qwen2', 'qwen2-untied', 'qwen3'],
  ...['mistral', 'gemma2', 'gemma3', 'smollm3', 'phi3', 'olmo2', 'granite'],
];

/** A group of three, and a sequence of its own. */
const ids = (length: number, from: number) => Array.from({ length }, (_, i) => (from + 7 * i) % 250);
const SEGMENTS: Segment[] = [
  { ids: ids(9, 1) },
  ...[5, 8, 3].map((length, i) => ({ ids: ids(length, 20 * i), parent: 0 })),
  { ids: ids(11, 77) },
];

function decoderOf(name: string, dtype: DType, targets?: readonly string[] | 'all'): Decoder {
  const lora = targets && {
    rank: 3,
    alpha: 6,
    seed: 2,
    ...(targets === 'all' ? {} : { targets: [...targets] }),
  };
  const { decoder } = loadModel(fixture(name), { dtype, device: DEVICE, ...(lora && { lora }) });
  onTestFinished(() => decoder.dispose());
  for (const parameter of decoder.trainable.values()) {
    // B is zero at first, and A has no gradient then.
    if (targets) tidy(() => parameter.add_(parameter.numel % 7 === 0 ? 0.03 : 0.02));
    parameter.requiresGrad = true;
  }
  return decoder;
}

/** Log-probs and entropies of every token of the segments but the first. */
function lossOf(decoder: Decoder, wrap: <T>(body: () => T) => T): Tensor {
  const hidden = wrap(() => {
    const packed = packSegments(SEGMENTS, decoder.config, DEVICE);
    return decoder.hidden(packed, packed.attend);
  });
  const targets = packSegments(SEGMENTS, decoder.config, DEVICE).ids_N;
  const [logprobs, entropies] = tokenScores(hidden, decoder.head, targets, null, null, {
    temperature: 0.9,
    chunk: 16,
    entropy_gradient: true,
  });
  return logprobs.mean().mul(-1).add(entropies.sum().mul(0.01));
}

/** The gradients of two micro-batches, the second of twice the loss, and the tensors that are left. */
function gradients(decoder: Decoder, recompute: boolean, wrap: <T>(body: () => T) => T = (body) => body()) {
  const optimizer = new AdamW(decoder.trainable, { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0 });
  const losses = [1, 2].map((factor) =>
    tidy(() => {
      using pass: Pass = openPass(decoder, recompute);
      const loss = lossOf(pass.decoder, wrap).mul(factor);
      optimizer.accumulate(() => pass.backward(loss));
      return loss.item();
    }),
  );
  const values = new Map(
    [...optimizer.gradients].map(([name, g]) => [name, g.toTypedArray() as Float32Array]),
  );
  optimizer.dispose();
  return { losses, values };
}

function expectEqual(
  found: ReadonlyMap<string, Float32Array>,
  wanted: ReadonlyMap<string, Float32Array>,
  bound: number,
) {
  expect([...found.keys()]).toEqual([...wanted.keys()]);
  for (const [name, values] of wanted) {
    const size = Math.hypot(...values);
    const distance = Math.hypot(...values.map((x, i) => x - found.get(name)![i]!));
    expect(distance, name).toBeLessThanOrEqual(bound * size);
    expect(size, name).toBeGreaterThan(0);
  }
}

describe.each(FAMILIES)('%s, recomputed layer by layer', (name) => {
  it.each(['float32', 'bfloat16'] as const)('has the gradients of all weights in %s', (dtype) => {
    const decoder = decoderOf(name, dtype);
    const [kept, again] = [gradients(decoder, false), gradients(decoder, true)];
    expect(again.losses).toEqual(kept.losses);
    expectEqual(again.values, kept.values, dtype === 'float32' ? 1e-6 : 0);
  });

  it.each(['float32', 'bfloat16'] as const)('has the gradients of adapters with dropout in %s', (dtype) => {
    const decoder = decoderOf(name, dtype, 'all');
    const under = (recompute: boolean) => {
      using _dropout = decoder.lora!.dropping(0.3, 5);
      return gradients(decoder, recompute);
    };
    const [kept, again] = [under(false), under(true)];
    expect(again.losses).toEqual(kept.losses);
    expectEqual(again.values, kept.values, dtype === 'float32' ? 1e-6 : 0);
    expect(gradients(decoder, true).losses).not.toEqual(again.losses);
  });
});

describe('a recomputed pass', () => {
  it('reaches adapters of later layers alone', () => {
    const decoder = decoderOf('qwen2', 'float32', [
      'model.layers.1.mlp.up_proj',
      'model.layers.2.self_attn.v_proj',
    ]);
    expectEqual(gradients(decoder, true).values, gradients(decoder, false).values, 1e-6);
  });

  it('outlives the scope in which it was packed', () => {
    const decoder = decoderOf('qwen2', 'float32');
    expect(gradients(decoder, true, tidy).values).toEqual(gradients(decoder, true).values);
  });

  it('goes through two calls and one whose result is not used', () => {
    const decoder = decoderOf('qwen3', 'float32');
    const twice = (recompute: boolean) => {
      using pass = openPass(decoder, recompute);
      tidy(() => {
        const packed = packSegments(SEGMENTS, decoder.config, DEVICE);
        const [first, , third] = [1, 2, 3].map(() => pass.decoder.hidden(packed, packed.attend).sum());
        pass.backward(first!.mul(first!).add(third!));
      });
      const values = new Map(
        [...decoder.parameters].flatMap(([name, p]) =>
          p.grad ? [[name, p.grad.toTypedArray() as Float32Array] as const] : [],
        ),
      );
      for (const parameter of decoder.parameters.values()) parameter.grad = null;
      return values;
    };
    expectEqual(twice(true), twice(false), 1e-6);
  });

  it('leaves no tensors, after an error neither', () => {
    const decoder = decoderOf('llama3', 'float32');
    const before = memory().tensors;
    gradients(decoder, true);
    // Fewer where the collector has freed tensors of other tests meanwhile.
    expect(memory().tensors).toBeLessThanOrEqual(before);
    const failing = () =>
      tidy(() => {
        using pass = openPass(decoder, true);
        const packed = packSegments(SEGMENTS, decoder.config, DEVICE);
        pass.decoder.hidden(packed, (layer, q, k, v) => {
          if (layer === 1) throw new Error('no memory');
          return packed.attend(layer, q, k, v);
        });
      });
    expect(failing).toThrow('no memory');
    expect(memory().tensors).toBeLessThanOrEqual(before);
  });

  it('holds the inputs of layers, and of one layer its activations', () => {
    const decoder = decoderOf('qwen2', 'float32');
    const { config } = decoder;
    const input = 4 * SEGMENTS.reduce((sum, { ids }) => sum + ids.length, 0) * config.hiddenSize;
    const before = memory().bytes;
    tidy(() => {
      using pass = openPass(decoder, true);
      const packed = packSegments(SEGMENTS, config, DEVICE);
      const hidden = pass.decoder.hidden(packed, packed.attend);
      // The layers' inputs, the last one's output, and its norm; ids, places and rotations are smaller.
      expect(memory().bytes - before).toBeLessThan((config.layers + 4) * input);
      hidden.sum().backward();
    });
  });
});
