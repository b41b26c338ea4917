import type { Config } from '../config/schema.js';
import { activationBytes } from '../models/activation-bytes.js';
import type { Decoder } from '../models/index.js';

/**
 * Whether the backward pass of a micro-batch computes the layers again (`train.recompute`).
 *
 * @param tokens - of the micro-batch, each prompt counted once
 * @param room - bytes that activations may take
 */
export function recomputes(
  setting: Config['train']['recompute'],
  decoder: Decoder,
  tokens: number,
  room = Number.POSITIVE_INFINITY,
): boolean {
  if (setting !== 'auto') return setting === 'layers';
  const { config, dtype, lora } = decoder;
  const inputs = [...(lora?.parameters ?? [])].flatMap(([name, matrix]) =>
    name.endsWith('.lora_A.weight') ? matrix.size(1) : [],
  );
  const adapterInputs = lora && inputs.reduce((sum, input) => sum + input, 0);
  const size = dtype === 'float32' ? 4 : 2;
  return activationBytes(config, tokens, { size, adapterInputs, recompute: false }) > room;
}
