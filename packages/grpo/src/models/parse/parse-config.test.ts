import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../errors/user-error.js';
import { ConfigFields } from '../config-fields.js';
import { parseConfig } from './parse-config.js';

const json = (name: string) =>
  JSON.parse(
    readFileSync(
      new URL(`../../../../../parity/fixtures/models/${name}/config.json`, import.meta.url),
      'utf8',
    ),
  ) as Record<string, unknown>;

describe('parseConfig', () => {
  it('reads the spelling of transformers 4 and 5 alike', () => {
    const modern = parseConfig(json('llama3'), 'config.json');
    expect(parseConfig(json('llama3-legacy-config'), 'config.json')).toEqual(modern);
    expect(modern.ropes).toEqual([
      {
        theta: 500000,
        dims: 16,
        scaling: { type: 'llama3', factor: 8, lowFreqFactor: 1, highFreqFactor: 4, originalPositions: 64 },
      },
    ]);
  });

  it('reads `rope_theta` where no scaling is given, and scaling under its oldest key', () => {
    const { rope_parameters: _, ...plain } = json('llama3');
    const bare = parseConfig({ ...plain, rope_theta: 1e6, rope_scaling: null }, 'config.json');
    expect(bare.ropes).toEqual([{ theta: 1e6, dims: 16 }]);
    const old = parseConfig({ ...plain, rope_scaling: { type: 'linear', factor: 2 } }, 'config.json');
    expect(old.ropes).toEqual([{ theta: 10000, dims: 16, scaling: { type: 'linear', factor: 2 } }]);
  });

  it('gives Qwen 2 its biases, and Qwen 3 its norms and heads of 128, where the file says nothing', () => {
    const { head_dim: _, ...qwen3 } = json('qwen3');
    expect(parseConfig(qwen3, 'config.json')).toMatchObject({ headDim: 128, qkNorm: 'head', qkvBias: false });
    expect(parseConfig(json('qwen2'), 'config.json')).toMatchObject({
      headDim: 8,
      qkNorm: 'none',
      qkvBias: true,
      outputBias: false,
    });
  });
});

describe('parseConfig of a masked-diffusion model', () => {
  const beside = (generation: Record<string, unknown>) => ({
    generation: new ConfigFields(generation, 'generation_config.json'),
    maskToken: () => 7,
  });

  it('takes the mask token from config.json, else generation_config.json, else the tokenizer', () => {
    const maskOf = (named: object, generation = {}) =>
      parseConfig({ ...json('a2d-qwen3'), ...named }, 'config.json', beside(generation)).diffusion!.maskId;
    expect(maskOf({ mask_token_id: 0 }, { mask_token_id: 5 })).toBe(0);
    expect(maskOf({ mask_token_id: null }, { mask_token_id: 5 })).toBe(5);
    expect(maskOf({})).toBe(7);
  });

  it('reads how a completion is denoised where a file says so', () => {
    const denoising = (named: object, generation = {}) =>
      parseConfig({ ...json('llada'), ...named }, 'config.json', beside(generation)).diffusion;
    expect(denoising({})).toEqual({ maskId: 263, shifted: false });
    expect(denoising({ steps: 64 }, { steps: 8, block_length: 32 })).toEqual({
      maskId: 263,
      shifted: false,
      steps: 64,
      blockLength: 32,
    });
  });

  it('knows that the logits of Dream predict the next place, and of no other family', () => {
    const shifted = ['dream', 'llada', 'a2d-qwen2'].map(
      (name) => parseConfig(json(name), 'config.json').diffusion!.shifted,
    );
    expect(shifted).toEqual([true, false, false]);
    expect(parseConfig(json('qwen2'), 'config.json').diffusion).toBeUndefined();
  });

  it('gives LLaDA an embedding that may be longer than its vocabulary, and every head keys of its own', () => {
    const { n_kv_heads: _, ...llada } = json('llada');
    expect(parseConfig({ ...llada, vocab_size: 250 }, 'config.json')).toMatchObject({
      vocabSize: 264,
      kvHeads: 4,
      headDim: 8,
      intermediateSize: 48,
    });
    expect(parseConfig({ ...llada, mlp_hidden_size: null }, 'config.json').intermediateSize).toBe(128);
  });
});

type Case = [name: string, fixture: string, changes: object, message: RegExp];

const refused: Case[] = [
  [
    'a model_type that every object has',
    'llama3',
    { model_type: 'constructor' },
    /model_type "constructor" is not supported/,
  ],
  ['no model_type', 'llama3', { model_type: undefined }, /model_type is missing/],
  ['no hidden_size', 'llama3', { hidden_size: null }, /json: hidden_size is missing/],
  [
    'a number in quotes',
    'llama3',
    { num_hidden_layers: '2' },
    /num_hidden_layers must be a number, found "2"/,
  ],
  [
    'half a layer',
    'llama3',
    { num_hidden_layers: 2.5 },
    /num_hidden_layers must be a whole number of at least 1, found 2\.5/,
  ],
  [
    'a flag in quotes',
    'llama3',
    { tie_word_embeddings: 'false' },
    /tie_word_embeddings must be true or false, found "false"/,
  ],
  [
    'heads that do not divide the width',
    'llama3-tied',
    { num_attention_heads: 5, num_key_value_heads: 5, head_dim: undefined },
    /hidden_size 32 is not divisible by num_attention_heads 5/,
  ],
  ['the same in GPT-2', 'gpt2', { n_head: 3 }, /n_embd 32 is not divisible by n_head 3/],
  [
    'key heads that do not divide the heads',
    'llama3',
    { num_key_value_heads: 3 },
    /num_attention_heads 4 is not divisible by num_key_value_heads 3/,
  ],
  ['an odd head', 'llama3', { head_dim: 15 }, /15 dimensions cannot be rotated in pairs/],
  [
    'an unknown activation',
    'llama3',
    { hidden_act: 'relu' },
    /hidden_act "relu" is not supported; supported: gelu, /,
  ],
  [
    'a sliding window',
    'qwen2',
    { use_sliding_window: true },
    /use_sliding_window: sliding-window attention is not supported/,
  ],
  [
    'layers with a sliding window',
    'qwen3',
    { layer_types: ['full_attention', 'sliding_attention'] },
    /layer_types: sliding-window attention is not supported/,
  ],
  [
    'yarn',
    'qwen3',
    { rope_parameters: { rope_type: 'yarn', rope_theta: 1e6, factor: 4 } },
    /rope_parameters\.rope_type "yarn" is not supported; supported: default, linear, llama3/,
  ],
  [
    'a scaling without its factor',
    'llama3',
    { rope_parameters: { rope_type: 'llama3', rope_theta: 5e5 } },
    /rope_parameters\.factor is missing/,
  ],
  [
    'a scaling by 0',
    'llama3',
    { rope_parameters: { rope_type: 'linear', factor: 0 } },
    /rope_parameters\.factor must be at least 1, found 0/,
  ],
  [
    'llama3 factors in the wrong order',
    'llama3',
    {
      rope_parameters: {
        rope_type: 'llama3',
        factor: 8,
        low_freq_factor: 4,
        high_freq_factor: 4,
        original_max_position_embeddings: 64,
      },
    },
    /low_freq_factor 4 must be below high_freq_factor 4/,
  ],
  [
    'a rope whose angles are infinite',
    'llama3',
    { rope_parameters: { rope_theta: 1e-300 } },
    /rope_theta must be at least 1, found 1e-300/,
  ],
  [
    'a vocabulary of 10^12',
    'llama3',
    { vocab_size: 1e12 },
    /vocab_size must be at most 67108864, found 1000/,
  ],
  ['10^12 layers', 'gpt2', { n_layer: 1e12 }, /n_layer must be at most 2000, found 1000000000000/],
  ['a negative width', 'gpt2', { n_embd: -8 }, /n_embd must be a whole number of at least 1, found -8/],
  ['NaN in words', 'llama3', { rms_norm_eps: 'NaN' }, /rms_norm_eps must be a number, found "NaN"/],
  ['an epsilon of 1', 'llama3', { rms_norm_eps: 1 }, /rms_norm_eps must be between 0 and 1, found 1/],
  [
    'an infinite number',
    'llama3',
    JSON.parse('{"hidden_size": 1e999}'),
    /hidden_size must be a number, found Infinity/,
  ],
  [
    'a masked-diffusion model without a mask token',
    'a2d-qwen3',
    {},
    /mask_token_id is missing, and the tokenizer names no mask_token/,
  ],
  [
    'a mask token beyond the vocabulary',
    'llada',
    { mask_token_id: 264 },
    /mask_token_id must be an id below 264, the model's vocabulary, found 264/,
  ],
  [
    'block diffusion',
    'a2d-qwen2',
    { block_size: 32 },
    /block_size: block diffusion \(BD3LM\) is not supported/,
  ],
  [
    'blocks of OLMo',
    'llada',
    { block_type: null },
    /block_type "sequential" is not supported; supported: "llama"/,
  ],
  ['LLaDA with learned positions', 'llada', { rope: false }, /rope false is not supported; supported: true/],
  ['LLaDA with clipped projections', 'llada', { clip_qkv: 8 }, /clip_qkv is not supported/],
  [
    'LLaDA with heads that do not divide',
    'llada',
    { n_kv_heads: 3 },
    /n_heads 4 is not divisible by n_kv_heads 3/,
  ],
  [
    'quantised weights',
    'llama3',
    { quantization_config: { quant_method: 'gptq' } },
    /quantization_config: quantised weights/,
  ],
];

describe('parseConfig refuses', () => {
  it.each(refused)('%s', (_, name, changes, message) => {
    const parse = () => parseConfig({ ...json(name), ...changes }, 'here/config.json');
    expect(parse).toThrow(UserError);
    expect(parse).toThrow(message);
    expect(parse).toThrow(/^here\/config\.json: /);
  });
});
