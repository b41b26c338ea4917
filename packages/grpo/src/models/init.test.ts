import { readFileSync } from 'node:fs';
import { noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import type { DecoderConfig } from './config.js';
import type { Decoder } from './decoder.js';
import { initDecoder } from './init.js';
import { packSegments } from './pack-segments.js';
import { parameterSpecs } from './parameters.js';
import { parseConfig } from './parse/parse-config.js';

/** A fixture's shape, wide enough for statistics. */
function shapeOf(name: string): DecoderConfig {
  const file = new URL(`../../../../parity/fixtures/models/${name}/config.json`, import.meta.url);
  const json = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  const wide = name === 'gpt2' ? { n_embd: 128, n_layer: 3 } : { hidden_size: 128, num_hidden_layers: 3 };
  const layers = { layer_types: undefined, head_dim: undefined };
  return parseConfig(
    { ...json, ...wide, ...(name === 'qwen3' ? { ...layers, head_dim: 32 } : layers) },
    name,
  );
}

const valuesOf = ({ parameters }: Decoder) =>
  Object.fromEntries([...parameters].map(([name, p]) => [name, p.toNumbers()]));

const deviation = (values: number[]) => {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length);
};

describe.each(['gpt2', 'llama3', 'qwen2', 'qwen3'])('initDecoder, shape of %s', (name) => {
  const config = shapeOf(name);
  const decoder = initDecoder(config, { seed: 7 });

  it('gives one model a seed, whatever else drew before', () => {
    const values = valuesOf(decoder);
    tidy(() => tensor([0]).normal_());
    expect(valuesOf(initDecoder(config, { seed: 7 }))).toEqual(values);
    expect(valuesOf(initDecoder(config, { seed: 8 }))).not.toEqual(values);
  });

  it('draws with the promised deviation, and sets norms to one and biases to zero', () => {
    const specs = parameterSpecs(config);
    expect([...decoder.parameters.keys()]).toEqual([...specs.keys()]);
    for (const [parameter, spec] of specs) {
      const held = decoder.parameters.get(parameter)!;
      expect(held.shape, parameter).toEqual(spec.transposed ? [...spec.shape].reverse() : spec.shape);
      const values = held.toNumbers();
      if (spec.role === 'norm') expect(new Set(values), parameter).toEqual(new Set([1]));
      else if (spec.role === 'bias') expect(new Set(values), parameter).toEqual(new Set([0]));
      else {
        const intoResidual = /(attn\.c_proj|mlp\.c_proj|o_proj|down_proj)\.weight$/.test(parameter);
        const std = intoResidual ? 0.02 / Math.sqrt(2 * 3) : 0.02;
        // Six standard errors of the deviation of so many draws.
        const slack = 6 / Math.sqrt(2 * values.length);
        expect(Math.abs(deviation(values) / std - 1), parameter).toBeLessThan(slack);
      }
    }
  });

  it('predicts every token alike at first: a loss of log V', () => {
    const ids = Array.from({ length: 100 }, (_, i) => (i * 97 + 31) % config.vocabSize);
    const loss = noGrad(() =>
      tidy(() => {
        const packed = packSegments([{ ids }], config, 'cpu');
        const logprobs = decoder.logits(decoder.hidden(packed, packed.attend)).logSoftmax(-1);
        const targets = packed.ids_N.narrow(0, 1, ids.length - 1).unsqueeze(1);
        return -logprobs
          .narrow(0, 0, ids.length - 1)
          .gather(1, targets)
          .mean()
          .item();
      }),
    );
    expect(Math.abs(loss - Math.log(config.vocabSize))).toBeLessThan(0.1);
  });

  it('clones into weights of their own, without gradients', () => {
    const source = initDecoder(config, { seed: 7 });
    for (const p of source.parameters.values()) p.requiresGrad = true;
    const copy = tidy(() => source.clone());
    expect(copy.config).toEqual(config);
    expect([...copy.parameters.keys()]).toEqual([...source.parameters.keys()]);
    for (const [parameter, original] of source.parameters) {
      const cloned = copy.parameters.get(parameter)!;
      expect(cloned.requiresGrad).toBe(false);
      const values = cloned.toNumbers();
      expect(values, parameter).toEqual(original.toNumbers());
      noGrad(() => tidy(() => original.add_(1)));
      expect(cloned.toNumbers(), parameter).toEqual(values);
    }
    source.dispose();
    expect([...copy.parameters.values()].some((p) => p.disposed)).toBe(false);
    copy.dispose();
    expect([...copy.parameters.values()].every((p) => p.disposed)).toBe(true);
  });
});

it('initDecoder rounds the same draws to bf16', () => {
  const config = shapeOf('qwen2');
  const [wide, narrow] = (['float32', 'bfloat16'] as const).map((dtype) =>
    initDecoder(config, { seed: 7, dtype }),
  );
  expect(narrow!.dtype).toBe('bfloat16');
  for (const [name, parameter] of wide!.parameters) {
    const rounded: Tensor = tidy(() => parameter.to('bfloat16'));
    expect(narrow!.parameters.get(name)!.toNumbers(), name).toEqual(rounded.toNumbers());
  }
});
