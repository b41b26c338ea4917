/**
 * The shape of a decoder, read from `config.json` by transformers' documentation of its keys and their defaults. It is
 * read a second time here, so that a key that `models/` reads wrongly shows.
 */

type Json = Readonly<Record<string, unknown>>;

export interface PlainShape {
  family: 'gpt2' | 'llama' | 'qwen2' | 'qwen3' | 'llada';
  /** Each place sees all others, as in a masked-diffusion model. */
  bothWays: boolean;
  /** The logits of a place of a masked-diffusion model predict the next one. */
  shifted: boolean;
  layers: number;
  heads: number;
  /** Key and value heads; each serves heads / keyHeads query heads. */
  keyHeads: number;
  headDim: number;
  /** Added to the variance in a norm. */
  epsilon: number;
  activation: string;
  /** Turn of each pair of a head's dimensions from one position to the next, in radians; none with learned positions. */
  frequencies: readonly number[];
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

const CAUSAL = { bothWays: false, shifted: false };

const number = (config: Json, key: string, otherwise?: number) => Number(config[key] ?? otherwise);

function gpt2Shape(config: Json): PlainShape {
  const heads = number(config, 'n_head');
  return {
    family: 'gpt2',
    ...CAUSAL,
    layers: number(config, 'n_layer'),
    heads,
    keyHeads: heads,
    headDim: number(config, 'n_embd') / heads,
    epsilon: number(config, 'layer_norm_epsilon', 1e-5),
    activation: String(config.activation_function ?? 'gelu_new'),
    frequencies: [],
    biased: ['attn.c_attn', 'attn.c_proj', 'mlp.c_fc', 'mlp.c_proj'],
    tied: config.tie_word_embeddings !== false,
  };
}

const QKV = ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'];
const MLP = ['mlp.gate_proj', 'mlp.up_proj', 'mlp.down_proj'];

function rotaryShape(family: 'llama' | 'qwen2' | 'qwen3', config: Json): PlainShape {
  const heads = number(config, 'num_attention_heads');
  const headDim = number(
    config,
    'head_dim',
    family === 'qwen3' ? 128 : number(config, 'hidden_size') / heads,
  );
  const attention = config.attention_bias === true ? [...QKV, 'self_attn.o_proj'] : [];
  return {
    family,
    ...CAUSAL,
    layers: number(config, 'num_hidden_layers'),
    heads,
    keyHeads: number(config, 'num_key_value_heads', heads),
    headDim,
    epsilon: number(config, 'rms_norm_eps', 1e-6),
    activation: String(config.hidden_act ?? 'silu'),
    frequencies: frequenciesOf(config, headDim),
    // Qwen 2 has no key for its biases.
    biased: [
      ...(family === 'qwen2' ? QKV : attention),
      ...(family === 'llama' && config.mlp_bias === true ? MLP : []),
    ],
    tied: config.tie_word_embeddings === true,
  };
}

function lladaShape(config: Json): PlainShape {
  const heads = number(config, 'n_heads');
  const headDim = number(config, 'd_model') / heads;
  return {
    family: 'llada',
    ...CAUSAL,
    layers: number(config, 'n_layers'),
    heads,
    keyHeads: number(config, 'n_kv_heads', heads),
    headDim,
    epsilon: number(config, 'rms_norm_eps', 1e-5),
    activation: 'silu',
    frequencies: frequenciesOf(config, headDim),
    biased: [],
    tied: config.weight_tying !== false,
  };
}

/** `modeling_rope_utils.py` of transformers: types default, linear and llama3. */
function frequenciesOf(config: Json, headDim: number): number[] {
  const rope = (config.rope_parameters ?? config.rope_scaling ?? {}) as Json;
  const base = Number(rope.rope_theta ?? config.rope_theta ?? 10000);
  const plain = Array.from({ length: headDim / 2 }, (_, pair) => 1 / base ** (pair / (headDim / 2)));
  const type = rope.rope_type ?? rope.type ?? 'default';
  if (type === 'default') return plain;
  const factor = number(rope, 'factor');
  if (type === 'linear') return plain.map((frequency) => frequency / factor);
  if (type !== 'llama3') throw new Error(`the audit knows no rope_type ${String(type)}`);
  const [low, high] = [number(rope, 'low_freq_factor'), number(rope, 'high_freq_factor')];
  const trained = number(rope, 'original_max_position_embeddings');
  return plain.map((frequency) => {
    const wavelength = (2 * Math.PI) / frequency;
    if (wavelength < trained / high) return frequency;
    if (wavelength > trained / low) return frequency / factor;
    const smooth = (trained / wavelength - low) / (high - low);
    return ((1 - smooth) / factor + smooth) * frequency;
  });
}
