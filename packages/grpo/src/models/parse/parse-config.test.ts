import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../errors/user-error.js';
import type { DecoderConfig } from '../config.js';
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

const parsed = (name: string, changes: object = {}) =>
  parseConfig({ ...json(name), ...changes }, 'config.json');

describe('parseConfig of layers that differ', () => {
  const windowsOf = ({ attention }: DecoderConfig) => attention.map(({ window }) => window);

  it('gives Mistral a window in every layer, unless the file says null', () => {
    expect(windowsOf(parsed('mistral'))).toEqual([8, 8]);
    expect(windowsOf(parsed('mistral', { sliding_window: undefined }))).toEqual([4096, 4096]);
    expect(windowsOf(parsed('mistral', { sliding_window: null }))).toEqual([undefined, undefined]);
  });

  it('gives the later layers of Qwen windows where the file asks for them', () => {
    const asked = { use_sliding_window: true, sliding_window: 9, max_window_layers: 1 };
    for (const name of ['qwen2', 'qwen3']) {
      expect(windowsOf(parsed(name, { layer_types: undefined, num_hidden_layers: 2, ...asked }))).toEqual([
        undefined,
        9,
      ]);
      expect(windowsOf(parsed(name, { ...asked, use_sliding_window: false })).every((w) => !w)).toBe(true);
    }
  });

  it('knows which layers of Gemma have windows, where the file does not say it', () => {
    const unsaid = { layer_types: undefined, num_hidden_layers: 7, sliding_window: 5 };
    const [w, o] = [5, undefined];
    expect(windowsOf(parsed('gemma2', unsaid))).toEqual([w, o, w, o, w, o, w]);
    expect(windowsOf(parsed('gemma3', unsaid))).toEqual([w, w, w, w, w, o, w]);
    expect(windowsOf(parsed('gemma3', { ...unsaid, sliding_window_pattern: 3 }))).toEqual([
      w,
      w,
      o,
      w,
      w,
      o,
      w,
    ]);
  });

  it('reads the ropes of Gemma 3 in the spelling of transformers 4 and 5 alike', () => {
    const old = parsed('gemma3-scaled');
    expect(old.ropes).toEqual([
      { theta: 20000, dims: 16, scaling: { type: 'linear', factor: 8 } },
      { theta: 100, dims: 16 },
    ]);
    expect(old.attention).toEqual([{ rope: 1, window: 8 }, { rope: 0 }, { rope: 1, window: 8 }]);
    const keys = ['rope_theta', 'rope_scaling', 'rope_local_base_freq', 'sliding_window_pattern'];
    const modern = parsed('gemma3-scaled', {
      ...Object.fromEntries(keys.map((key) => [key, undefined])),
      layer_types: ['sliding_attention', 'full_attention', 'sliding_attention'],
      rope_parameters: {
        full_attention: { rope_type: 'linear', factor: 8, rope_theta: 20000 },
        sliding_attention: { rope_type: 'default', rope_theta: 100 },
      },
    });
    expect(modern).toEqual(old);
    const bare = parsed('gemma3', { rope_parameters: undefined });
    expect(bare.ropes).toEqual([
      { theta: 1e6, dims: 16 },
      { theta: 10000, dims: 16 },
    ]);
  });

  it('takes soft caps of Gemma 2 that the file does not name, and none where it says null', () => {
    const missing = { attn_logit_softcapping: undefined, final_logit_softcapping: undefined };
    expect(parsed('gemma2', missing)).toMatchObject({ attentionSoftcap: 50, logitSoftcap: 30 });
    const none = parsed('gemma2', { attn_logit_softcapping: null, final_logit_softcapping: null });
    expect([none.attentionSoftcap, none.logitSoftcap]).toEqual([undefined, undefined]);
  });

  it('leaves every fourth layer of SmolLM3 without positions, where the file does not say which', () => {
    const ropesOf = (changes: object) =>
      parsed('smollm3', { layer_types: undefined, ...changes }).attention.map(({ rope }) => rope);
    expect(ropesOf({})).toEqual([0, undefined, 0, undefined]);
    expect(ropesOf({ no_rope_layers: null })).toEqual([0, 0, 0, undefined]);
    expect(ropesOf({ no_rope_layers: null, no_rope_layer_interval: 2 })).toEqual([
      0,
      undefined,
      0,
      undefined,
    ]);
    const slid = parsed('smollm3', { layer_types: undefined, use_sliding_window: true, sliding_window: 6 });
    expect(windowsOf(slid)).toEqual([undefined, 6, undefined, 6]);
  });

  it('reads the longrope of Phi-4-mini in both spellings, and ends its context where the frequencies change', () => {
    const modern = parsed('phi3');
    expect(modern.maxPositions).toBe(128);
    const attentionFactor = Math.sqrt(1 + Math.log(4) / Math.log(128));
    expect(modern.ropes).toEqual([
      { theta: 10000, dims: 6, scaling: { type: 'longrope', factors: [1, 1.7, 2.6], attentionFactor } },
    ]);
    const scaling = { short_factor: [1, 1.7, 2.6], long_factor: [1, 4, 9] };
    for (const type of ['longrope', 'su']) {
      const old = { rope_scaling: { type, ...scaling }, rope_theta: 10000, partial_rotary_factor: 0.75 };
      expect(parsed('phi3', { rope_parameters: undefined, ...old })).toEqual(modern);
    }
    const plain = parsed('phi3', { rope_parameters: undefined });
    expect(plain).toMatchObject({ maxPositions: 512, ropes: [{ theta: 10000, dims: 8 }] });
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
  [
    'a run’s own',
    'llama3',
    { model_type: undefined, values: {}, versions: {} },
    /a run is in this folder, not a model/,
  ],
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
    'layers with a window, of which none is set',
    'qwen3',
    { layer_types: ['full_attention', 'sliding_attention'] },
    /layer_types has a sliding_attention, but no window is set for it/,
  ],
  [
    'a kind of layer that is not known',
    'qwen3',
    { layer_types: ['full_attention', 'chunked_attention'] },
    /layer_types\[1\] must be full_attention or sliding_attention, found "chunked_attention"/,
  ],
  [
    'kinds of too few layers',
    'qwen3',
    { layer_types: ['full_attention'] },
    /layer_types must have 2 entries, found 1/,
  ],
  [
    'a Gemma that sees both ways',
    'gemma3',
    { use_bidirectional_attention: true },
    /use_bidirectional_attention: a causal model sees earlier tokens only/,
  ],
  [
    'a soft cap that transformers leaves out',
    'gemma3',
    { attn_logit_softcapping: 50 },
    /attn_logit_softcapping: transformers does not apply it in Gemma 3/,
  ],
  [
    'a Gemma 3 for images',
    'gemma3',
    { model_type: 'gemma3' },
    /model_type "gemma3": a model of images and text, whose parts are not trained apart/,
  ],
  [
    'a layer that neither has nor lacks positions',
    'smollm3',
    { no_rope_layers: [1, 0, 2, 0] },
    /no_rope_layers\[2\] must be 0 or 1, found 2/,
  ],
  [
    'a part of each head turned in a family that turns them whole',
    'llama3',
    { partial_rotary_factor: 0.5 },
    /partial_rotary_factor 0\.5 is not supported in a model of type llama/,
  ],
  [
    'half a pair turned',
    'phi3',
    { rope_parameters: null, partial_rotary_factor: 0.4 },
    /partial_rotary_factor 0\.4 turns 3 dimensions of a head; they must be pairs of it/,
  ],
  [
    'longrope with too few factors',
    'phi3',
    { rope_parameters: { rope_type: 'longrope', short_factor: [1, 2] } },
    /rope_parameters\.short_factor must have 4 entries, found 2/,
  ],
  [
    'longrope without factors',
    'phi3',
    { rope_parameters: { rope_type: 'longrope', long_factor: [1, 2, 3, 4] } },
    /short_factor is missing/,
  ],
  [
    'Llama with longrope',
    'llama3',
    { rope_parameters: { rope_type: 'longrope', short_factor: [1, 2, 3, 4] } },
    /rope_type "longrope" is not supported; supported: default, linear, llama3/,
  ],
  [
    'gated delta nets',
    'qwen3',
    { model_type: 'qwen3_5_text' },
    /model_type "qwen3_5_text": three of four of its layers are gated delta nets/,
  ],
  ['short convolutions', 'llama3', { model_type: 'lfm2' }, /most of its layers are short convolutions/],
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
