import { UserError } from '../config/errors.js';

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

/** The shape of a decoder: all that tells GPT-2, Llama 3, Qwen 2 and Qwen 3 apart. */
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
}

type Json = Record<string, unknown>;

/** Reads one Hugging Face `config.json` object; `file` names it in errors. */
class Fields {
  constructor(
    private readonly json: Json,
    private readonly file: string,
  ) {}

  fail(problem: string, hint?: string): never {
    throw new UserError(`${this.file}: ${problem}`, { hint });
  }

  number(key: string, fallback?: number): number {
    const value = this.json[key] ?? fallback;
    if (typeof value !== 'number' || !Number.isFinite(value))
      this.fail(`${key} must be a number, found ${JSON.stringify(value)}`);
    return value;
  }

  size(key: string, fallback?: number): number {
    const value = this.number(key, fallback);
    if (!Number.isInteger(value) || value < 1)
      this.fail(`${key} must be a whole number of at least 1, found ${value}`);
    return value;
  }

  flag(key: string, fallback: boolean): boolean {
    return (this.json[key] ?? fallback) === true;
  }

  object(key: string): Json | undefined {
    const value = this.json[key];
    return typeof value === 'object' && value !== null ? (value as Json) : undefined;
  }

  value(key: string): unknown {
    return this.json[key];
  }
}

const activations: Record<string, DecoderConfig['activation']> = {
  gelu: 'gelu',
  gelu_new: 'gelu_tanh',
  gelu_pytorch_tanh: 'gelu_tanh',
  silu: 'silu',
};

function activation(fields: Fields, key: string, fallback: string): DecoderConfig['activation'] {
  const name = fields.value(key) ?? fallback;
  const known = activations[String(name)];
  if (!known)
    fields.fail(`${key} '${name}' is not supported; supported: ${Object.keys(activations).join(', ')}`);
  return known;
}

function gpt2(fields: Fields): DecoderConfig {
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
    layers: fields.size('n_layer'),
    heads,
    kvHeads: heads,
    headDim: hiddenSize / heads,
    maxPositions: fields.size('n_positions', 1024),
    normEps: fields.number('layer_norm_epsilon', 1e-5),
    activation: activation(fields, 'activation_function', 'gelu_new'),
    qkvBias: true,
    outputBias: true,
    mlpBias: true,
    qkNorm: false,
    tied: fields.flag('tie_word_embeddings', true),
  };
}

function rotary(family: 'llama' | 'qwen2' | 'qwen3') {
  return (fields: Fields): DecoderConfig => {
    if (fields.flag('use_sliding_window', false)) fields.fail('use_sliding_window is not supported');
    const hiddenSize = fields.size('hidden_size');
    const heads = fields.size('num_attention_heads');
    const attentionBias = fields.flag('attention_bias', false);
    return {
      family,
      vocabSize: fields.size('vocab_size'),
      hiddenSize,
      intermediateSize: fields.size('intermediate_size'),
      layers: fields.size('num_hidden_layers'),
      heads,
      kvHeads: fields.size('num_key_value_heads', heads),
      headDim: fields.size('head_dim', family === 'qwen3' ? 128 : hiddenSize / heads),
      maxPositions: fields.size('max_position_embeddings', 2048),
      normEps: fields.number('rms_norm_eps', 1e-6),
      activation: activation(fields, 'hidden_act', 'silu'),
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

/** transformers 5 writes `rope_parameters`; before, `rope_theta` stood beside `rope_scaling`. */
function rope(fields: Fields): { ropeTheta: number; ropeScaling?: RopeScaling } {
  const parameters = fields.object('rope_parameters') ?? fields.object('rope_scaling') ?? {};
  const inside = new Fields(parameters, 'config.json, rope parameters');
  const ropeTheta =
    parameters.rope_theta === undefined ? fields.number('rope_theta', 10000) : inside.number('rope_theta');
  const type = String(parameters.rope_type ?? parameters.type ?? 'default');
  switch (type) {
    case 'default':
      return { ropeTheta };
    case 'linear':
      return { ropeTheta, ropeScaling: { type, factor: inside.number('factor') } };
    case 'llama3':
      return {
        ropeTheta,
        ropeScaling: {
          type,
          factor: inside.number('factor'),
          lowFreqFactor: inside.number('low_freq_factor'),
          highFreqFactor: inside.number('high_freq_factor'),
          originalPositions: inside.size('original_max_position_embeddings'),
        },
      };
    default:
      return fields.fail(`rope scaling '${type}' is not supported; supported: default, linear, llama3`);
  }
}

const families: Record<string, (fields: Fields) => DecoderConfig> = {
  gpt2,
  llama: rotary('llama'),
  qwen2: rotary('qwen2'),
  qwen3: rotary('qwen3'),
};

/**
 * The decoder that a Hugging Face `config.json` describes.
 *
 * @param file - names the file in errors
 * @throws UserError: an unknown `model_type`, a missing or impossible value, an option that is not supported.
 */
export function parseConfig(json: Record<string, unknown>, file: string): DecoderConfig {
  const fields = new Fields(json, file);
  const type = String(json.model_type);
  const parse = families[type];
  if (!parse)
    fields.fail(`model_type '${type}' is not supported`, `Supported: ${Object.keys(families).join(', ')}`);
  const config = parse(fields);
  if (!Number.isInteger(config.headDim))
    fields.fail(`${config.hiddenSize} hidden units do not divide into ${config.heads} heads`);
  if (config.heads % config.kvHeads !== 0) {
    fields.fail(`${config.heads} heads do not divide into ${config.kvHeads} key and value heads`);
  }
  return config;
}
