import { describe, expect, it } from 'vitest';
import { configOf } from './plain-model.test.helper.js';
import { plainShape } from './plain-shape.js';

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
      layers: 1,
      heads: 4,
      keyHeads: 4,
      headDim: 8,
      epsilon: 1e-6,
      activation: 'silu',
      frequencies: [1, 0.1, 0.01, 0.001].map((frequency) => expect.closeTo(frequency, 12)),
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
      frequencies: [],
    });
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
    const { frequencies } = plainShape({ ...config, rope_parameters: undefined });
    expect(frequencies).toEqual([0.25, 0.025, 0.0025, 0.00025].map((f) => expect.closeTo(f, 12)));
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
