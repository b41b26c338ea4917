import type { DecoderConfig } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import { rotary } from './rotary.js';

/** Every layer has the window, if any has. */
export const mistral = (fields: ConfigFields): DecoderConfig =>
  rotary(fields, 'mistral', { window: fields.optional('sliding_window', 4096) });
