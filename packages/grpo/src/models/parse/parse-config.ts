import type { DecoderConfig } from '../config.js';
import { ConfigFields } from '../config-fields.js';
import { gpt2 } from './gpt2.js';
import { llada } from './llada.js';
import { type FilesBeside, masked, type Parse } from './masked.js';
import { rotary } from './rotary.js';

const families = new Map<string, Parse>([
  ['gpt2', gpt2],
  ['llama', rotary('llama')],
  ['qwen2', rotary('qwen2')],
  ['qwen3', rotary('qwen3')],
  ['llada', masked(llada, false)],
  ['Dream', masked(rotary('qwen2'), true)],
  ['a2d-llama', masked(rotary('llama'), false)],
  ['a2d-qwen2', masked(rotary('qwen2'), false)],
  ['a2d-qwen3', masked(rotary('qwen3'), false)],
]);

/**
 * The decoder that a Hugging Face `config.json` describes.
 *
 * @param file - names the file in errors
 * @throws UserError: an unknown `model_type`, a missing or impossible value, an option that is not supported.
 */
export function parseConfig(
  json: Readonly<Record<string, unknown>>,
  file: string,
  beside: FilesBeside = {},
): DecoderConfig {
  const fields = new ConfigFields(json, file);
  const parse = fields.choice('model_type', families);
  if (fields.object('quantization_config')) {
    fields.fail(
      'quantization_config: quantised weights cannot be trained',
      'take the checkpoint with float weights',
    );
  }
  return parse(fields, beside);
}
