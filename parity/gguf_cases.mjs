/** Models of gguf.mjs: shapes that llama.cpp has, with layers enough for every pattern of layers. */

const sizes = {
  hidden_size: 128,
  intermediate_size: 192,
  num_hidden_layers: 6,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 32,
  max_position_embeddings: 256,
  rms_norm_eps: 1e-6,
  hidden_act: 'silu',
  tie_word_embeddings: true,
};
const rope = (rope_theta, more = {}) => ({ rope_parameters: { rope_type: 'default', rope_theta, ...more } });

/** Of so many layers, every last of a period attends to all positions. */
const layerTypes = (layers, period) =>
  Array.from({ length: layers }, (_, i) => ((i + 1) % period === 0 ? 'full_attention' : 'sliding_attention'));
const gemma = {
  ...sizes,
  vocab_size: 544,
  query_pre_attn_scalar: 32,
  sliding_window: 16,
  hidden_act: undefined,
  hidden_activation: 'gelu_pytorch_tanh',
};

/** By the name of the file: a configuration, and the tokenizer that comes with it. */
export const cases = {
  gpt2: {
    tokenizer: 'text/gpt2',
    config: {
      model_type: 'gpt2',
      ...{ n_embd: 128, n_inner: 192, n_layer: 6, n_head: 4, n_positions: 256 },
      ...{ activation_function: 'gelu_new', layer_norm_epsilon: 1e-5, vocab_size: 512 },
    },
    generation: { eos_token_id: 500 },
  },
  llama: {
    tokenizer: 'text/llama3',
    config: {
      ...sizes,
      model_type: 'llama',
      vocab_size: 544,
      tie_word_embeddings: false,
      ...rope(5e5, {
        ...{ rope_type: 'llama3', factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
        original_max_position_embeddings: 64,
      }),
    },
    generation: { eos_token_id: [526, 523] },
  },
  'llama-biases': {
    tokenizer: 'text/llama3',
    config: {
      ...sizes,
      model_type: 'llama',
      vocab_size: 544,
      ...{ attention_bias: true, mlp_bias: true },
      ...rope(1e4, { rope_type: 'linear', factor: 4 }),
    },
    generation: { eos_token_id: [526, 523] },
  },
  qwen2: {
    tokenizer: 'text/qwen2',
    config: { ...sizes, model_type: 'qwen2', vocab_size: 544, ...rope(1e6) },
    generation: { eos_token_id: [512, 510] },
  },
  qwen3: {
    tokenizer: 'text/qwen3',
    config: { ...sizes, model_type: 'qwen3', vocab_size: 544, head_dim: 64, ...rope(1e6) },
    generation: { eos_token_id: [512, 510] },
  },
  mistral: {
    tokenizer: 'text/llama3',
    config: { ...sizes, model_type: 'mistral', vocab_size: 544, sliding_window: 64, ...rope(1e4) },
    generation: { eos_token_id: [526, 523] },
  },
  gemma2: {
    tokenizer: 'text/qwen2',
    config: {
      ...gemma,
      model_type: 'gemma2',
      ...{ attn_logit_softcapping: 20, final_logit_softcapping: 10 },
      layer_types: layerTypes(6, 2),
      ...rope(1e4),
    },
    generation: { eos_token_id: 512 },
  },
  gemma3: {
    tokenizer: 'text/qwen2',
    config: {
      ...gemma,
      model_type: 'gemma3_text',
      num_hidden_layers: 7,
      layer_types: layerTypes(7, 6),
      rope_parameters: {
        full_attention: { rope_type: 'default', rope_theta: 1e6 },
        sliding_attention: { rope_type: 'default', rope_theta: 1e3 },
      },
    },
    generation: { eos_token_id: 512 },
  },
  'gemma3-scaled': {
    tokenizer: 'text/qwen2',
    config: {
      ...gemma,
      model_type: 'gemma3_text',
      layer_types: layerTypes(6, 3),
      rope_parameters: {
        full_attention: { rope_type: 'linear', factor: 8, rope_theta: 1e6 },
        sliding_attention: { rope_type: 'default', rope_theta: 1e4 },
      },
    },
    generation: { eos_token_id: 512 },
  },
  smollm3: {
    tokenizer: 'text/llama3',
    config: {
      ...sizes,
      model_type: 'smollm3',
      vocab_size: 544,
      no_rope_layers: [1, 1, 1, 0, 1, 1],
      ...rope(2e6),
    },
    generation: { eos_token_id: [526, 523] },
  },
  phi3: {
    tokenizer: 'text/gpt2',
    config: {
      ...sizes,
      model_type: 'phi3',
      vocab_size: 512,
      pad_token_id: null,
      ...{ max_position_embeddings: 1024, original_max_position_embeddings: 256 },
      ...rope(1e4, {
        ...{ rope_type: 'longrope', partial_rotary_factor: 0.75, original_max_position_embeddings: 256 },
        short_factor: Array.from({ length: 12 }, (_, i) => 1 + i / 8),
        long_factor: Array.from({ length: 12 }, (_, i) => 1 + 3 * i),
      }),
    },
    generation: { eos_token_id: 500 },
  },
  olmo2: {
    tokenizer: 'text/gpt2',
    config: { ...sizes, model_type: 'olmo2', vocab_size: 512, pad_token_id: null, ...rope(5e5) },
    generation: { eos_token_id: 500 },
  },
  granite: {
    tokenizer: 'text/gpt2',
    config: {
      ...sizes,
      model_type: 'granite',
      vocab_size: 512,
      ...{ embedding_multiplier: 6, residual_multiplier: 0.4, attention_multiplier: 0.1, logits_scaling: 3 },
      ...rope(1e4),
    },
    generation: { eos_token_id: 500 },
  },
};
