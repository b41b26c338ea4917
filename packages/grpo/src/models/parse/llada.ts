import { describeJson } from '../../formats/json.js';
import { type DecoderConfig, equalLayers, llamaTraits } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import { divided, evenHead, kvHeads, MAX_LAYERS } from './sizes.js';

/** LLaDA's keys with one supported value, and the value that a missing key stands for. */
const lladaValues: readonly (readonly [key: string, supported: unknown, missing: unknown])[] = [
  ['block_type', 'llama', 'sequential'],
  ['block_group_size', 1, 1],
  ['layer_norm_type', 'rms', 'default'],
  ['layer_norm_with_affine', true, true],
  ['bias_for_layer_norm', false, false],
  ['attention_layer_norm', false, false],
  ['activation_type', 'silu', 'swiglu'],
  ['rope', true, false],
  ['alibi', false, false],
  ['include_bias', false, false],
  ['include_qkv_bias', false, false],
  ['multi_query_attention', false, false],
  ['input_emb_norm', false, false],
  ['scale_logits', false, false],
];

export function llada(fields: ConfigFields): DecoderConfig {
  for (const [key, supported, missing] of lladaValues) {
    const found = fields.value(key) ?? missing;
    if (found !== supported)
      fields.fail(`${key} ${describeJson(found)} is not supported; supported: ${describeJson(supported)}`);
  }
  if (fields.value('clip_qkv') !== undefined) fields.fail('clip_qkv is not supported');
  const hiddenSize = fields.size('d_model');
  const layers = fields.size('n_layers', undefined, MAX_LAYERS);
  const headDim = evenHead(fields, divided(fields, 'd_model', 'n_heads'));
  return {
    ...llamaTraits,
    family: 'llada',
    // The embedding may have more rows than the vocabulary.
    vocabSize: fields.size('embedding_size', fields.size('vocab_size')),
    hiddenSize,
    intermediateSize: fields.size('mlp_hidden_size', hiddenSize * fields.size('mlp_ratio', 4)),
    layers,
    heads: fields.size('n_heads'),
    kvHeads: kvHeads(fields, 'n_heads', 'n_kv_heads'),
    headDim,
    ...equalLayers({ layers, headDim }, { theta: fields.factor('rope_theta', 10000) }),
    maxPositions: fields.size('max_sequence_length', 1024),
    normEps: fields.fraction('rms_norm_eps', 1e-5),
    tied: fields.flag('weight_tying', true),
  };
}
