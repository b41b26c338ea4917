import type { DecoderConfig } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import { rotary } from './rotary.js';

export const llama = (fields: ConfigFields): DecoderConfig =>
  rotary(fields, 'llama', { biases: ['attention_bias', 'mlp_bias'] });
