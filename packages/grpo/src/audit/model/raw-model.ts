import type { Config } from '../../config/schema.js';
import type { Decoder, Model } from '../../models/index.js';
import type { PlainModel } from '../plain/plain-model.js';

/**
 * A decoder as its folder has it: names and numbers, and the scale of the adapters as it is declared: by the settings that
 * made them, or by the folder that they are of.
 */
export function rawModel(
  { configJson, tokenizer }: Pick<Model, 'configJson' | 'tokenizer'>,
  { parameters, lora }: Decoder,
  { lora: { rank, alpha = 2 * rank, adapter } }: Pick<Config, 'lora'>,
): PlainModel {
  const isMade = adapter === undefined && rank > 0;
  const declared = isMade ? { rank, alpha } : lora?.settings;
  return {
    config: configJson,
    maskId: typeof configJson.mask_token_id === 'number' ? configJson.mask_token_id : tokenizer.maskId,
    weights: parameters,
    adapters: lora && declared && { matrices: lora.parameters, scale: declared.alpha / declared.rank },
  };
}
