import type { DecoderConfig } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import { type RotaryKeys, rotary } from './rotary.js';

/** What all Gemmas share. */
function gemma(fields: ConfigFields, family: DecoderConfig['family'], keys: RotaryKeys): DecoderConfig {
  if (fields.flag('use_bidirectional_attention', false))
    fields.fail('use_bidirectional_attention: a causal model sees earlier tokens only');
  const config = rotary(fields, family, {
    biases: ['attention_bias'],
    activation: ['hidden_activation', 'gelu_pytorch_tanh'],
    headDim: 256,
    tied: true,
    window: fields.optional('sliding_window', 4096),
    ...keys,
  });
  return {
    ...config,
    normOffset: 1,
    normPlacement: 'both',
    embeddingScale: Math.sqrt(config.hiddenSize),
    attentionScale: fields.positive('query_pre_attn_scalar', 256) ** -0.5,
  };
}

/** Every second layer has a window, from the first on. */
export function gemma2(fields: ConfigFields): DecoderConfig {
  const config = gemma(fields, 'gemma2', { maxPositions: 8192, isWindowed: (layer) => layer % 2 === 0 });
  const attentionSoftcap = fields.optional('attn_logit_softcapping', 50);
  const logitSoftcap = fields.optional('final_logit_softcapping', 30);
  return { ...config, ...(attentionSoftcap && { attentionSoftcap }), ...(logitSoftcap && { logitSoftcap }) };
}
