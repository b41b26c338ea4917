import { type DecoderConfig, equalLayers, llamaTraits } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import { activations } from './activations.js';
import { rope } from './rope.js';
import { divided, evenHead, kvHeads, MAX_LAYERS } from './sizes.js';

export function rotary(family: 'llama' | 'qwen2' | 'qwen3') {
  return (fields: ConfigFields): DecoderConfig => {
    refuseSlidingWindow(fields);
    const attentionBias = fields.flag('attention_bias', false);
    const layers = fields.size('num_hidden_layers', undefined, MAX_LAYERS);
    const headDim = rotaryHeadDim(fields, family);
    return {
      ...llamaTraits,
      family,
      vocabSize: fields.size('vocab_size'),
      hiddenSize: fields.size('hidden_size'),
      intermediateSize: fields.size('intermediate_size'),
      layers,
      heads: fields.size('num_attention_heads'),
      kvHeads: kvHeads(fields, 'num_attention_heads', 'num_key_value_heads'),
      headDim,
      maxPositions: fields.size('max_position_embeddings', 2048),
      normEps: fields.fraction('rms_norm_eps', 1e-6),
      activation: fields.choice('hidden_act', activations, 'silu'),
      ...equalLayers({ layers, headDim }, rope(fields)),
      // Qwen 2 has these biases whatever its configuration says, and never one on the output.
      qkvBias: family === 'qwen2' || attentionBias,
      outputBias: family !== 'qwen2' && attentionBias,
      mlpBias: family === 'llama' && fields.flag('mlp_bias', false),
      qkNorm: family === 'qwen3' ? 'head' : 'none',
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

function rotaryHeadDim(fields: ConfigFields, family: DecoderConfig['family']): number {
  const given = fields.value('head_dim') !== undefined || family === 'qwen3';
  return evenHead(
    fields,
    given ? fields.size('head_dim', 128) : divided(fields, 'hidden_size', 'num_attention_heads'),
  );
}
