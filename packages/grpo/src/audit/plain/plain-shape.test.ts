import { describe, expect, it } from 'vitest';
import { configOf } from './plain-model.test.helper.js';
import { plainShape } from './plain-shape.js';

const ALL = Number.POSITIVE_INFINITY;
const nearly = (value: number) => expect.closeTo(value, 12) as number;
const near = (frequencies: readonly number[]) => ({ frequencies: frequencies.map(nearly), factor: 1 });

describe('the plain shape', () => {
  it('is the same from the keys of transformers 4 and 5', () => {
    expect(plainShape(configOf('llama3-legacy-config'))).toEqual(plainShape(configOf('llama3')));
  });

  it('has the defaults of transformers', () => {
    const llama = { model_type: 'llama', num_hidden_layers: 1, hidden_size: 32, num_attention_heads: 4 };
    expect(plainShape(llama)).toEqual({
      family: 'llama',
      bothWays: false,
      shifted: false,
      layers: [{ window: ALL, rope: near([1, 0.1, 0.01, 0.001]) }],
      heads: 4,
      keyHeads: 4,
      headDim: 8,
      scoreScale: expect.closeTo(8 ** -0.5, 12),
      scoreCap: ALL,
      headNorm: 'none',
      epsilon: 1e-6,
      normOffset: 0,
      activation: 'silu',
      embedding: { scale: 1, rounded: false },
      residualScale: 1,
      logitDivisor: 1,
      logitCap: ALL,
      biased: [],
      tied: false,
    });
    expect(plainShape({ ...llama, model_type: 'qwen3' })).toMatchObject({ headDim: 128 });
    const gpt2 = { model_type: 'gpt2', n_layer: 1, n_head: 4, n_embd: 32 };
    expect(plainShape(gpt2)).toMatchObject({
      headDim: 8,
      epsilon: 1e-5,
      activation: 'gelu_new',
      tied: true,
      layers: [{ window: ALL }],
    });
  });

  it('has the defaults of transformers for the families after Llama', () => {
    const sizes = { hidden_size: 32, num_attention_heads: 8 };
    const shape = (model_type: string, count: number, rest = {}) =>
      plainShape({ model_type, ...sizes, num_hidden_layers: count, ...rest });
    const windows = ({ layers }: ReturnType<typeof plainShape>) => layers.map(({ window }) => window);
    const base = ({ rope }: { rope?: { frequencies: readonly number[] } }) =>
      rope && Math.round(1 / rope.frequencies[1]! ** rope.frequencies.length);

    expect(shape('mistral', 1)).toMatchObject({ keyHeads: 8, tied: false, layers: [{ window: 4096 }] });
    expect(windows(shape('mistral', 1, { sliding_window: null }))).toEqual([ALL]);

    const gemma2 = shape('gemma2', 3);
    expect(gemma2).toMatchObject({ headDim: 256, keyHeads: 4, scoreCap: 50, logitCap: 30, normOffset: 1 });
    expect(gemma2).toMatchObject({ scoreScale: 1 / 16, activation: 'gelu_pytorch_tanh', tied: true });
    expect(windows(gemma2)).toEqual([4096, ALL, 4096]);
    expect(shape('gemma2', 1, { attn_logit_softcapping: null }).scoreCap).toBe(ALL);

    const gemma3 = shape('gemma3_text', 7);
    expect(gemma3).toMatchObject({ headNorm: 'each', scoreCap: ALL, logitCap: ALL, headDim: 256 });
    expect(windows(gemma3)).toEqual([4096, 4096, 4096, 4096, 4096, ALL, 4096]);
    expect(gemma3.layers.slice(4).map(base)).toEqual([10_000, 1_000_000, 10_000]);

    const smollm3 = shape('smollm3', 5, { hidden_size: 512 });
    expect(smollm3.layers.map(base)).toEqual([2e6, 2e6, 2e6, undefined, 2e6]);
    expect(smollm3).toMatchObject({ keyHeads: 4, tied: true });
    const windowed = { use_sliding_window: true, sliding_window: 7, no_rope_layers: [1, 0] };
    expect(windows(shape('smollm3', 2, windowed))).toEqual([ALL, 7]);

    expect(shape('phi3', 1)).toMatchObject({ keyHeads: 8, epsilon: 1e-5, layers: [{ window: ALL }] });
    expect(shape('olmo2', 1)).toMatchObject({ keyHeads: 8, epsilon: 1e-5, headNorm: 'all' });
    expect(shape('granite', 1)).toMatchObject({ scoreScale: 1, logitDivisor: 1, residualScale: 1 });
  });

  it('reads the windows and ropes of Gemma 3 from the keys of transformers 4', () => {
    const old = configOf('gemma3-scaled');
    expect(old).not.toHaveProperty('layer_types');
    const { layers } = plainShape(old);
    expect(layers.map(({ window }) => window)).toEqual([8, ALL, 8]);
    const full = { rope_type: 'linear', rope_theta: 20000, factor: 8 };
    const ropes = { sliding_attention: { rope_type: 'default', rope_theta: 100 }, full_attention: full };
    const keys = { layer_types: ['sliding_attention', 'full_attention', 'sliding_attention'] };
    expect(plainShape({ ...configOf('gemma3'), ...keys, rope_parameters: ropes }).layers).toEqual(layers);
  });

  it('stretches a part of each head by short factors and the attention factor of longrope', () => {
    const phi = configOf('phi3');
    const { frequencies, factor } = plainShape(phi).layers[0]!.rope!;
    expect(frequencies).toEqual([1, 10000 ** (-1 / 3) / 1.7, 10000 ** (-2 / 3) / 2.6].map(nearly));
    // From 128 positions to 512.
    expect(factor).toBeCloseTo(Math.sqrt(1 + Math.log(4) / Math.log(128)), 12);
    const { rope_parameters, ...rest } = phi;
    const { rope_type, ...scaling } = rope_parameters as Record<string, unknown>;
    expect(plainShape({ ...rest, rope_scaling: { ...scaling, type: rope_type } })).toEqual(plainShape(phi));
  });

  it('is that of the family whose layers a masked-diffusion model has, but for what a place sees', () => {
    const changed = { bothWays: true, shifted: false };
    const { mask_token_id: _, ...qwen2 } = configOf('a2d-qwen2');
    expect(plainShape(qwen2)).toEqual({ ...plainShape({ ...qwen2, model_type: 'qwen2' }), ...changed });
    expect(plainShape(configOf('dream'))).toMatchObject({ family: 'qwen2', bothWays: true, shifted: true });
    expect(plainShape(configOf('llada'))).toMatchObject({
      ...changed,
      family: 'llada',
      keyHeads: 2,
      headDim: 8,
    });
  });

  it('stretches linear frequencies by their factor', () => {
    const config = {
      ...configOf('llama3-tied'),
      rope_scaling: { type: 'linear', factor: 4 },
      rope_theta: 10000,
    };
    const { layers } = plainShape({ ...config, rope_parameters: undefined });
    expect(layers[0]!.rope).toEqual(near([0.25, 0.025, 0.0025, 0.00025]));
  });

  it('has the biases that a configuration asks for', () => {
    const llama = { ...configOf('llama3'), attention_bias: true, mlp_bias: true };
    expect(plainShape(llama).biased).toEqual([
      ...['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj', 'self_attn.o_proj'],
      ...['mlp.gate_proj', 'mlp.up_proj', 'mlp.down_proj'],
    ]);
    expect(plainShape(configOf('qwen2')).biased).toHaveLength(3);
    expect(plainShape(configOf('qwen3')).biased).toHaveLength(0);
  });

  it('refuses another scaling of the positions', () => {
    const config = { ...configOf('llama3'), rope_parameters: { rope_type: 'yarn', factor: 2 } };
    expect(() => plainShape(config)).toThrow('rope_type yarn');
  });
});
