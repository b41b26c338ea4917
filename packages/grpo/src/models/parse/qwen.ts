import type { DecoderConfig } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import { type RotaryKeys, rotary } from './rotary.js';

/** The later layers have windows, where the file asks for any. */
function windows(fields: ConfigFields): RotaryKeys {
  if (!fields.flag('use_sliding_window', false)) return {};
  const first = fields.number('max_window_layers', 28);
  return { window: fields.optional('sliding_window', 4096), isWindowed: (layer) => layer >= first };
}

export const qwen2 = (fields: ConfigFields): DecoderConfig => ({
  ...rotary(fields, 'qwen2', windows(fields)),
  // Whatever the configuration says; there is never one on the output.
  qkvBias: true,
});

export const qwen3 = (fields: ConfigFields): DecoderConfig => ({
  ...rotary(fields, 'qwen3', { biases: ['attention_bias'], headDim: 128, ...windows(fields) }),
  qkNorm: 'head',
});
