import type { DecoderConfig } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import { ropeOf } from './rope.js';
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

/** Five of six layers have a window, and a rope of their own. */
export function gemma3(fields: ConfigFields): DecoderConfig {
  if (fields.optional('attn_logit_softcapping') !== undefined)
    fields.fail('attn_logit_softcapping: transformers does not apply it in Gemma 3; set it to null');
  const pattern = fields.size('sliding_window_pattern', 6);
  const config = gemma(fields, 'gemma3', {
    maxPositions: 131_072,
    isWindowed: (layer) => (layer + 1) % pattern !== 0,
    rope: { theta: 1_000_000 },
  });
  const logitSoftcap = fields.optional('final_logit_softcapping');
  const dims = config.headDim;
  // transformers 5 writes an object for each kind of layer.
  const byKind = fields.object('rope_parameters');
  const whole = byKind
    ? ropeOf(byKind.object('full_attention'), fields, { dims, theta: 1_000_000 })
    : config.ropes[0]!;
  const local = ropeOf(byKind?.object('sliding_attention'), fields, { dims }, 'rope_local_base_freq');
  return {
    ...config,
    ...(logitSoftcap && { logitSoftcap }),
    qkNorm: 'head',
    ropes: [whole, local],
    attention: config.attention.map((layer) => ({ ...layer, rope: layer.window === undefined ? 0 : 1 })),
  };
}
