import type { DecoderConfig } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import { rotary } from './rotary.js';

export const olmo2 = (fields: ConfigFields): DecoderConfig => ({
  ...rotary(fields, 'olmo2', { biases: ['attention_bias'], normEps: 1e-5 }),
  normPlacement: 'after',
  qkNorm: 'whole',
});
