import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { UserError } from '../errors/user-error.js';
import { parseConfig } from './config.js';

const json = (name: string) =>
  JSON.parse(
    readFileSync(new URL(`../../../../parity/fixtures/models/${name}/config.json`, import.meta.url), 'utf8'),
  ) as Record<string, unknown>;

describe('parseConfig', () => {
  it('reads the spelling of transformers 4 and 5 alike', () => {
    const modern = parseConfig(json('llama3'), 'config.json');
    expect(parseConfig(json('llama3-legacy-config'), 'config.json')).toEqual(modern);
    expect(modern.ropeTheta).toBe(500000);
    expect(modern.ropeScaling).toEqual({
      type: 'llama3',
      factor: 8,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalPositions: 64,
    });
  });

  it('reads `rope_theta` where no scaling is given, and scaling under its oldest key', () => {
    const { rope_parameters: _, ...plain } = json('llama3');
    const bare = parseConfig({ ...plain, rope_theta: 1e6, rope_scaling: null }, 'config.json');
    expect([bare.ropeTheta, bare.ropeScaling]).toEqual([1e6, undefined]);
    const old = parseConfig({ ...plain, rope_scaling: { type: 'linear', factor: 2 } }, 'config.json');
    expect([old.ropeTheta, old.ropeScaling]).toEqual([10000, { type: 'linear', factor: 2 }]);
  });

  it('gives Qwen 2 its biases, and Qwen 3 its norms and heads of 128, where the file says nothing', () => {
    const { head_dim: _, ...qwen3 } = json('qwen3');
    expect(parseConfig(qwen3, 'config.json')).toMatchObject({ headDim: 128, qkNorm: true, qkvBias: false });
    expect(parseConfig(json('qwen2'), 'config.json')).toMatchObject({
      headDim: 8,
      qkNorm: false,
      qkvBias: true,
      outputBias: false,
    });
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
