import { ConfigFields } from './config-fields.js';

/** How rotary frequencies are stretched beyond the length a model was trained on. */
export type RopeScaling =
  | { type: 'linear'; factor: number }
  | {
      type: 'llama3';
      factor: number;
      lowFreqFactor: number;
      highFreqFactor: number;
      /** Positions the model was first trained on. */
      originalPositions: number;
    };

/** What makes a decoder predict masked places from both sides, in place of the next token. */
export interface DiffusionShape {
  /** The token that stands at a hidden place. */
  maskId: number;
  /** The logits of a place predict the token after it, as in Dream; else the token at it. */
  shifted: boolean;
  /** Places that are filled before the next block begins, where the folder names them. */
  blockLength?: number;
  /** Denoising steps of a completion, where the folder names them. */
  steps?: number;
}

/** The shape of a decoder: all differences between GPT-2, Llama 3, Qwen 2 and Qwen 3. */
export interface DecoderConfig {
  family: 'gpt2' | 'llama' | 'qwen2' | 'qwen3';
  vocabSize: number;
  hiddenSize: number;
  /** Width inside the feed-forward block. */
  intermediateSize: number;
  layers: number;
  heads: number;
  /** Key and value heads; each serves heads / kvHeads query heads. */
  kvHeads: number;
  headDim: number;
  /** Longest sequence that the model was made for, in tokens. */
  maxPositions: number;
  normEps: number;
  activation: 'gelu' | 'gelu_tanh' | 'silu';
  /** Base of the rotary frequencies; absent with learned positions. */
  ropeTheta?: number;
  ropeScaling?: RopeScaling;
  /** Biases of the query, key and value projections. */
  qkvBias: boolean;
  /** Bias of the attention's output projection. */
  outputBias: boolean;
  mlpBias: boolean;
  /** RMS norm of each head's queries and keys. */
  qkNorm: boolean;
  /** The vocabulary projection is the token embedding. */
  tied: boolean;
  /** Of a masked-diffusion model; a causal one has none. */
  diffusion?: DiffusionShape;
}

/** Ten times those of the deepest models; without a limit, a wrong number here would fill the memory. */
const MAX_LAYERS = 2000;

const activations = new Map<string, DecoderConfig['activation']>([
  ['gelu', 'gelu'],
  ['gelu_new', 'gelu_tanh'],
  ['gelu_pytorch_tanh', 'gelu_tanh'],
  ['silu', 'silu'],
]);

function gpt2(fields: ConfigFields): DecoderConfig {
  for (const key of ['scale_attn_by_inverse_layer_idx', 'add_cross_attention']) {
    if (fields.flag(key, false)) fields.fail(`${key} is not supported`);
  }
  if (!fields.flag('scale_attn_weights', true)) fields.fail('scale_attn_weights: false is not supported');
  const hiddenSize = fields.size('n_embd');
  const heads = fields.size('n_head');
  return {
    family: 'gpt2',
    vocabSize: fields.size('vocab_size'),
    hiddenSize,
    intermediateSize: fields.size('n_inner', 4 * hiddenSize),
    layers: fields.size('n_layer', undefined, MAX_LAYERS),
    heads,
    kvHeads: heads,
    headDim: divided(fields, 'n_embd', 'n_head'),
    maxPositions: fields.size('n_positions', 1024),
    normEps: fields.fraction('layer_norm_epsilon', 1e-5),
    activation: fields.choice('activation_function', activations, 'gelu_new'),
    qkvBias: true,
    outputBias: true,
    mlpBias: true,
    qkNorm: false,
    tied: fields.flag('tie_word_embeddings', true),
  };
}

function rotary(family: 'llama' | 'qwen2' | 'qwen3') {
  return (fields: ConfigFields): DecoderConfig => {
    refuseSlidingWindow(fields);
    const heads = fields.size('num_attention_heads');
    const attentionBias = fields.flag('attention_bias', false);
    return {
      family,
      vocabSize: fields.size('vocab_size'),
      hiddenSize: fields.size('hidden_size'),
      intermediateSize: fields.size('intermediate_size'),
      layers: fields.size('num_hidden_layers', undefined, MAX_LAYERS),
      heads,
      kvHeads: kvHeads(fields, heads),
      headDim: rotaryHeadDim(fields, family),
      maxPositions: fields.size('max_position_embeddings', 2048),
      normEps: fields.fraction('rms_norm_eps', 1e-6),
      activation: fields.choice('hidden_act', activations, 'silu'),
      ...rope(fields),
      // Qwen 2 has these biases whatever its configuration says, and never one on the output.
      qkvBias: family === 'qwen2' || attentionBias,
      outputBias: family !== 'qwen2' && attentionBias,
      mlpBias: family === 'llama' && fields.flag('mlp_bias', false),
      qkNorm: family === 'qwen3',
      tied: fields.flag('tie_word_embeddings', false),
    };
  };
}

function refuseSlidingWindow(fields: ConfigFields): void {
  const layerTypes = fields.value('layer_types');
  const windowed = Array.isArray(layerTypes) && layerTypes.some((type) => type !== 'full_attention');
  if (windowed || fields.flag('use_sliding_window', false)) {
    const key = windowed ? 'layer_types' : 'use_sliding_window';
    fields.fail(`${key}: sliding-window attention is not supported; every layer must have full attention`);
  }
}

/** The quotient of two sizes that must divide. */
function divided(fields: ConfigFields, whole: string, parts: string): number {
  const [size, count] = [fields.size(whole), fields.size(parts)];
  if (size % count !== 0) fields.fail(`${whole} ${size} is not divisible by ${parts} ${count}`);
  return size / count;
}

function kvHeads(fields: ConfigFields, heads: number): number {
  const count = fields.size('num_key_value_heads', heads);
  if (heads % count !== 0)
    fields.fail(`num_attention_heads ${heads} is not divisible by num_key_value_heads ${count}`);
  return count;
}

function rotaryHeadDim(fields: ConfigFields, family: DecoderConfig['family']): number {
  const given = fields.value('head_dim') !== undefined || family === 'qwen3';
  const size = given ? fields.size('head_dim', 128) : divided(fields, 'hidden_size', 'num_attention_heads');
  if (size % 2 !== 0)
    fields.fail(`a head of ${size} dimensions cannot be rotated in pairs; head_dim must be even`);
  return size;
}

const ropeTypes = new Map<string, (inside: ConfigFields) => RopeScaling | undefined>([
  ['default', () => undefined],
  ['linear', (inside) => ({ type: 'linear', factor: inside.factor('factor') })],
  [
    'llama3',
    (inside) => {
      const factor = inside.factor('factor');
      const [lowFreqFactor, highFreqFactor] = [
        inside.positive('low_freq_factor'),
        inside.positive('high_freq_factor'),
      ];
      // What lies between is blended by its distance from both.
      if (lowFreqFactor >= highFreqFactor) {
        inside.fail(`low_freq_factor ${lowFreqFactor} must be below high_freq_factor ${highFreqFactor}`);
      }
      return {
        type: 'llama3',
        factor,
        lowFreqFactor,
        highFreqFactor,
        originalPositions: inside.size('original_max_position_embeddings'),
      };
    },
  ],
]);

/** transformers 5 writes `rope_parameters`; before, `rope_theta` stood beside `rope_scaling`. */
function rope(fields: ConfigFields): { ropeTheta: number; ropeScaling?: RopeScaling } {
  const inside = fields.object('rope_parameters') ?? fields.object('rope_scaling');
  if (!inside) return { ropeTheta: fields.factor('rope_theta', 10000) };
  const holder = inside.value('rope_theta') === undefined ? fields : inside;
  const ropeTheta = holder.factor('rope_theta', 10000);
  // Before transformers 4.43 the key was `type`.
  const key = inside.value('rope_type') === undefined ? 'type' : 'rope_type';
  const ropeScaling = inside.choice(key, ropeTypes, 'default')(inside);
  return ropeScaling ? { ropeTheta, ropeScaling } : { ropeTheta };
}

const families = new Map<string, (fields: ConfigFields) => DecoderConfig>([
  ['gpt2', gpt2],
  ['llama', rotary('llama')],
  ['qwen2', rotary('qwen2')],
  ['qwen3', rotary('qwen3')],
]);

/**
 * The decoder that a Hugging Face `config.json` describes.
 *
 * @param file - names the file in errors
 * @throws UserError: an unknown `model_type`, a missing or impossible value, an option that is not supported.
 */
export function parseConfig(json: Readonly<Record<string, unknown>>, file: string): DecoderConfig {
  const fields = new ConfigFields(json, file);
  const parse = fields.choice('model_type', families);
  if (fields.object('quantization_config')) {
    fields.fail(
      'quantization_config: quantised weights cannot be trained',
      'take the checkpoint with float weights',
    );
  }
  return parse(fields);
}
