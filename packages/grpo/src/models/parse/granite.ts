import type { DecoderConfig } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import { rotary } from './rotary.js';

export const granite = (fields: ConfigFields): DecoderConfig => ({
  ...rotary(fields, 'granite', { biases: ['attention_bias', 'mlp_bias'] }),
  attentionScale: fields.positive('attention_multiplier', 1),
  embeddingScale: fields.positive('embedding_multiplier', 1),
  residualScale: fields.positive('residual_multiplier', 1),
  logitDivisor: fields.positive('logits_scaling', 1),
});
