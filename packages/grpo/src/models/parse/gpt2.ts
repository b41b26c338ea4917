import { type DecoderConfig, equalLayers, llamaTraits } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import { activations } from './activations.js';
import { divided, MAX_LAYERS } from './sizes.js';

export function gpt2(fields: ConfigFields): DecoderConfig {
  for (const key of ['scale_attn_by_inverse_layer_idx', 'add_cross_attention']) {
    if (fields.flag(key, false)) fields.fail(`${key} is not supported`);
  }
  if (!fields.flag('scale_attn_weights', true)) fields.fail('scale_attn_weights: false is not supported');
  const hiddenSize = fields.size('n_embd');
  const heads = fields.size('n_head');
  const layers = fields.size('n_layer', undefined, MAX_LAYERS);
  const headDim = divided(fields, 'n_embd', 'n_head');
  return {
    ...llamaTraits,
    family: 'gpt2',
    norm: 'layer',
    gated: false,
    vocabSize: fields.size('vocab_size'),
    hiddenSize,
    intermediateSize: fields.size('n_inner', 4 * hiddenSize),
    layers,
    heads,
    kvHeads: heads,
    headDim,
    ...equalLayers({ layers, headDim }),
    maxPositions: fields.size('n_positions', 1024),
    normEps: fields.fraction('layer_norm_epsilon', 1e-5),
    activation: fields.choice('activation_function', activations, 'gelu_new'),
    qkvBias: true,
    outputBias: true,
    mlpBias: true,
    tied: fields.flag('tie_word_embeddings', true),
  };
}
