/**
 * The shape of a decoder, read from `config.json` by transformers' documentation of its keys and their defaults. It is
 * read a second time here, so that a key that `models/` reads wrongly shows.
 */
import { type Json, number, type PlainRope, ropeOf } from './plain-rope.js';

/** What a layer's attention sees, and how it knows places. */
export interface PlainAttention {
  /** A place sees so many, the last of which is its own; all before it where this is infinite. */
  window: number;
  /** None where the layer knows no places, or positions are learned. */
  rope?: PlainRope;
}

export interface PlainShape {
  family:
    | 'gpt2'
    | 'llama'
    | 'mistral'
    | 'qwen2'
    | 'qwen3'
    | 'llada'
    | 'gemma2'
    | 'gemma3'
    | 'smollm3'
    | 'phi3'
    | 'olmo2'
    | 'granite';
  /** Each place sees all others, as in a masked-diffusion model. */
  bothWays: boolean;
  /** The logits of a place of a masked-diffusion model predict the next one. */
  shifted: boolean;
  heads: number;
  /** Key and value heads; each serves heads / keyHeads query heads. */
  keyHeads: number;
  headDim: number;
  /** One for each layer. */
  layers: readonly PlainAttention[];
  /** Factor of the products of queries and keys. */
  scoreScale: number;
  /** Scores x become c·tanh(x / c); as they are where c is infinite. */
  scoreCap: number;
  /** Norm of each query head and key head, or of all heads of a token as one. */
  headNorm: 'none' | 'each' | 'all';
  /** Added to the variance in a norm. */
  epsilon: number;
  /** Added to the weight of a norm. */
  normOffset: number;
  activation: string;
  /** Factor of the token embeddings, which Gemma rounds to the precision of the weights. */
  embedding: { scale: number; rounded: boolean };
  /** Factor of what attention and MLP add to the residual stream. */
  residualScale: number;
  /** Products with the vocabulary projection are divided by it. */
  logitDivisor: number;
  /** Logits x become c·tanh(x / c) after that; as they are where c is infinite. */
  logitCap: number;
  /** Projections of a layer that have a bias. */
  biased: readonly string[];
  /** The vocabulary projection is the token embedding. */
  tied: boolean;
}

/** @throws Error: a family that is not described here */
export function plainShape(config: Json): PlainShape {
  const { model_type: type } = config;
  const masked = { bothWays: true, shifted: false };
  switch (type) {
    case 'gpt2':
      return gpt2Shape(config);
    case 'llama':
    case 'qwen2':
    case 'qwen3':
      return rotaryShape(type, config);
    case 'mistral':
      return mistralShape(config);
    case 'gemma2':
    case 'gemma3_text':
      return gemmaShape(type === 'gemma2' ? 'gemma2' : 'gemma3', config);
    case 'smollm3':
      return smollm3Shape(config);
    case 'phi3':
      return phi3Shape(config);
    case 'olmo2':
      return {
        ...rotaryShape('olmo2', config),
        headNorm: 'all',
        epsilon: number(config, 'rms_norm_eps', 1e-5),
      };
    case 'granite':
      return graniteShape(config);
    case 'a2d-llama':
      return { ...rotaryShape('llama', config), ...masked };
    case 'a2d-qwen2':
      return { ...rotaryShape('qwen2', config), ...masked };
    case 'a2d-qwen3':
      return { ...rotaryShape('qwen3', config), ...masked };
    case 'Dream':
      return { ...rotaryShape('qwen2', config), ...masked, shifted: true };
    case 'llada':
      return { ...lladaShape(config), ...masked };
    default:
      throw new Error(`the audit knows no model_type ${String(type)}`);
  }
}

/** What Llama has of the traits that differ between families. */
const PLAIN = {
  bothWays: false,
  shifted: false,
  scoreCap: Infinity,
  headNorm: 'none',
  normOffset: 0,
  embedding: { scale: 1, rounded: false },
  residualScale: 1,
  logitDivisor: 1,
  logitCap: Infinity,
} as const;

const alike = (count: number, layer: PlainAttention): PlainAttention[] =>
  Array.from({ length: count }, () => layer);

function gpt2Shape(config: Json): PlainShape {
  const heads = number(config, 'n_head');
  const headDim = number(config, 'n_embd') / heads;
  return {
    ...PLAIN,
    family: 'gpt2',
    layers: alike(number(config, 'n_layer'), { window: Infinity }),
    heads,
    keyHeads: heads,
    headDim,
    scoreScale: 1 / Math.sqrt(headDim),
    epsilon: number(config, 'layer_norm_epsilon', 1e-5),
    activation: String(config.activation_function ?? 'gelu_new'),
    biased: ['attn.c_attn', 'attn.c_proj', 'mlp.c_fc', 'mlp.c_proj'],
    tied: config.tie_word_embeddings !== false,
  };
}

const QKV = ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'];
const MLP = ['mlp.gate_proj', 'mlp.up_proj', 'mlp.down_proj'];

/** Keys and defaults of Llama; the other families say what they have of their own. */
function rotaryShape(family: PlainShape['family'], config: Json): PlainShape {
  const heads = number(config, 'num_attention_heads');
  const headDim = number(
    config,
    'head_dim',
    family === 'qwen3' ? 128 : number(config, 'hidden_size') / heads,
  );
  const attention = config.attention_bias === true ? [...QKV, 'self_attn.o_proj'] : [];
  const hasMlpBias = ['llama', 'smollm3', 'granite'].includes(family) && config.mlp_bias === true;
  return {
    ...PLAIN,
    family,
    layers: alike(number(config, 'num_hidden_layers'), { window: Infinity, rope: ropeOf(config, headDim) }),
    heads,
    keyHeads: number(config, 'num_key_value_heads', heads),
    headDim,
    scoreScale: 1 / Math.sqrt(headDim),
    headNorm: family === 'qwen3' ? 'each' : 'none',
    epsilon: number(config, 'rms_norm_eps', 1e-6),
    activation: String(config.hidden_act ?? 'silu'),
    // Qwen 2 has no key for its biases.
    biased: [...(family === 'qwen2' ? QKV : attention), ...(hasMlpBias ? MLP : [])],
    tied: config.tie_word_embeddings === true,
  };
}

/** A key whose null switches off what is on where the key is left out. */
const orOff = (config: Json, key: string, otherwise: number): number =>
  config[key] === null ? Infinity : number(config, key, otherwise);

function mistralShape(config: Json): PlainShape {
  const shape = rotaryShape('mistral', { ...config, attention_bias: false });
  const window = orOff(config, 'sliding_window', 4096);
  return {
    ...shape,
    keyHeads: config.num_key_value_heads === null ? shape.heads : number(config, 'num_key_value_heads', 8),
    layers: shape.layers.map((layer) => ({ ...layer, window })),
  };
}

/** Gemma 2 and the text part of Gemma 3. */
function gemmaShape(family: 'gemma2' | 'gemma3', config: Json): PlainShape {
  const own = family === 'gemma3';
  const headDim = number(config, 'head_dim', 256);
  const count = number(config, 'num_hidden_layers');
  const period = own ? number(config, 'sliding_window_pattern', 6) : 2;
  const types = (config.layer_types ??
    Array.from({ length: count }, (_, layer) =>
      (layer + 1) % period === 0 ? 'full_attention' : 'sliding_attention',
    )) as readonly string[];
  const window = orOff(config, 'sliding_window', 4096);
  return {
    ...rotaryShape(family, { ...config, head_dim: headDim }),
    keyHeads: number(config, 'num_key_value_heads', 4),
    layers: types.map((type) => {
      const isWindowed = type === 'sliding_attention';
      return {
        window: isWindowed ? window : Infinity,
        rope: ropeOf(own ? gemma3Rope(config, isWindowed) : config, headDim),
      };
    }),
    scoreScale: 1 / Math.sqrt(number(config, 'query_pre_attn_scalar', 256)),
    // transformers has the key in Gemma 3 too, and makes no use of it.
    scoreCap: own ? Infinity : orOff(config, 'attn_logit_softcapping', 50),
    headNorm: own ? 'each' : 'none',
    normOffset: 1,
    activation: String(config.hidden_activation ?? 'gelu_pytorch_tanh'),
    embedding: { scale: Math.sqrt(number(config, 'hidden_size')), rounded: true },
    logitCap: own
      ? number(config, 'final_logit_softcapping', Infinity)
      : orOff(config, 'final_logit_softcapping', 30),
    tied: config.tie_word_embeddings !== false,
  };
}

/** Layers with a window have a rope of their own, which `rope_scaling` of transformers 4 leaves alone. */
function gemma3Rope(config: Json, isWindowed: boolean): Json {
  const each = config.rope_parameters as Record<string, Json> | undefined;
  const theta = isWindowed
    ? number(config, 'rope_local_base_freq', 10_000)
    : number(config, 'rope_theta', 1_000_000);
  const old = isWindowed ? {} : (config.rope_scaling as Json | undefined);
  const own = each?.[isWindowed ? 'sliding_attention' : 'full_attention'];
  return { rope_parameters: { rope_theta: theta, ...(own ?? old) } };
}

function smollm3Shape(config: Json): PlainShape {
  const shape = rotaryShape('smollm3', { rope_theta: 2_000_000, ...config });
  const interval = number(config, 'no_rope_layer_interval', 4);
  const turns = (config.no_rope_layers ??
    shape.layers.map((_, layer) => Number((layer + 1) % interval !== 0))) as readonly number[];
  const types = config.layer_types as readonly string[] | undefined;
  const window = config.use_sliding_window === true ? number(config, 'sliding_window', Infinity) : Infinity;
  return {
    ...shape,
    keyHeads: config.num_key_value_heads === null ? shape.heads : number(config, 'num_key_value_heads', 4),
    layers: shape.layers.map(({ rope }, layer) => {
      const isWindowed = types ? types[layer] === 'sliding_attention' : !turns[layer];
      return { window: isWindowed ? window : Infinity, ...(turns[layer] && rope && { rope }) };
    }),
    tied: config.tie_word_embeddings !== false,
  };
}

function phi3Shape(config: Json): PlainShape {
  const shape = rotaryShape('phi3', { ...config, attention_bias: false });
  const window = number(config, 'sliding_window', Infinity);
  return {
    ...shape,
    layers: shape.layers.map((layer) => ({ ...layer, window })),
    epsilon: number(config, 'rms_norm_eps', 1e-5),
  };
}

const graniteShape = (config: Json): PlainShape => ({
  ...rotaryShape('granite', config),
  scoreScale: number(config, 'attention_multiplier', 1),
  embedding: { scale: number(config, 'embedding_multiplier', 1), rounded: false },
  residualScale: number(config, 'residual_multiplier', 1),
  logitDivisor: number(config, 'logits_scaling', 1),
});

function lladaShape(config: Json): PlainShape {
  const heads = number(config, 'n_heads');
  const headDim = number(config, 'd_model') / heads;
  return {
    ...PLAIN,
    family: 'llada',
    layers: alike(number(config, 'n_layers'), { window: Infinity, rope: ropeOf(config, headDim) }),
    heads,
    keyHeads: number(config, 'n_kv_heads', heads),
    headDim,
    scoreScale: 1 / Math.sqrt(headDim),
    epsilon: number(config, 'rms_norm_eps', 1e-5),
    activation: 'silu',
    biased: [],
    tied: config.weight_tying !== false,
  };
}
