import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DecoderConfig } from '../config.js';
import { ConfigFields } from '../config-fields.js';
import { gemma2, gemma3 } from './gemma.js';
import { gpt2 } from './gpt2.js';
import { granite } from './granite.js';
import { llada } from './llada.js';
import { llama } from './llama.js';
import { type FilesBeside, masked, type Parse } from './masked.js';
import { mistral } from './mistral.js';
import { olmo2 } from './olmo2.js';
import { phi3 } from './phi3.js';
import { qwen2, qwen3 } from './qwen.js';
import { smollm3 } from './smollm3.js';

const families = new Map<string, Parse>([
  ['gpt2', gpt2],
  ['llama', llama],
  ['mistral', mistral],
  ['qwen2', qwen2],
  ['qwen3', qwen3],
  ['smollm3', smollm3],
  ['olmo2', olmo2],
  ['granite', granite],
  ['phi3', phi3],
  ['gemma2', gemma2],
  ['gemma3_text', gemma3],
  ['llada', masked(llada, false)],
  ['Dream', masked(qwen2, true)],
  ['a2d-llama', masked(llama, false)],
  ['a2d-qwen2', masked(qwen2, false)],
  ['a2d-qwen3', masked(qwen3, false)],
]);

const SUPPORTED = `families that can be trained: ${[...families.keys()].join(', ')}`;

/** Families whose layers this decoder does not have, and why. */
const unsupported = new Map<string, string>([
  [
    'gemma3',
    'a model of images and text, whose parts are not trained apart; take one of text alone (model_type gemma3_text), such as google/gemma-3-1b-it',
  ],
  ...['qwen3_next', 'qwen3_5', 'qwen3_5_text', 'qwen3_5_moe'].map(
    (type) =>
      [
        type,
        'three of four of its layers are gated delta nets, which keep a state in place of keys and values; they are not there yet',
      ] as const,
  ),
  ...['lfm2', 'lfm2_moe', 'lfm2_vl'].map(
    (type) =>
      [
        type,
        'most of its layers are short convolutions over neighbouring tokens; they are not there yet',
      ] as const,
  ),
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
  if (json.model_type === undefined && fields.object('values') && fields.object('versions'))
    fields.fail('a run is in this folder, not a model', checkpointsBeside(file));
  const reason = unsupported.get(String(json.model_type));
  if (reason) fields.fail(`model_type "${json.model_type}": ${reason}`, SUPPORTED);
  const parse = fields.choice('model_type', families);
  if (fields.object('quantization_config')) {
    fields.fail(
      'quantization_config: quantised weights cannot be trained',
      'take the checkpoint with float weights',
    );
  }
  return parse(fields, beside);
}

/** Names the checkpoints of the run that a file is of, the newest first. */
function checkpointsBeside(file: string): string {
  const folder = join(dirname(file), 'checkpoints');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => /^step-\d+$/.test(name)) : [];
  const stepOf = (name: string) => Number(name.slice('step-'.length));
  const [newest, ...others] = names.sort((a, b) => stepOf(b) - stepOf(a));
  if (newest === undefined) return 'it has no checkpoint yet';
  const more = others.length === 0 ? '' : `, or ${others.join(', ')} beside it`;
  return `take one of its checkpoints: ${join(folder, newest)}${more}`;
}
