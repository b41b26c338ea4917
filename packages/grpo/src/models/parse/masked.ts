import type { DecoderConfig } from '../config.js';
import type { ConfigFields } from '../config-fields.js';

/** Files beside `config.json` that may describe a masked-diffusion model. */
export interface FilesBeside {
  /** `generation_config.json`. */
  generation?: ConfigFields;
  /** The id of the tokenizer's mask token. */
  maskToken?: () => number | undefined;
}

/** Reads a family's configuration. */
export type Parse = (fields: ConfigFields, beside: FilesBeside) => DecoderConfig;

/** A masked-diffusion model with the layers of another family. */
export const masked =
  (parse: Parse, shifted: boolean): Parse =>
  (fields, beside) => {
    if (fields.value('block_size') !== undefined) {
      fields.fail(
        'block_size: block diffusion (BD3LM) is not supported; there a place does not attend to later blocks',
        'take a masked-diffusion model, whose places attend to all others: of Tiny-A2D, one with mdlm in its name',
      );
    }
    const config = parse(fields, beside);
    const holder = (key: string) =>
      [fields, beside.generation].find((file) => file?.value(key) !== undefined);
    const maskId = holder('mask_token_id')?.id('mask_token_id', config.vocabSize) ?? beside.maskToken?.();
    if (maskId === undefined) {
      return fields.fail(
        'mask_token_id is missing, and the tokenizer names no mask_token',
        'set it to the id of the token that stands at a hidden place',
      );
    }
    const blockLength = holder('block_length')?.size('block_length');
    const steps = holder('steps')?.size('steps');
    return {
      ...config,
      diffusion: { maskId, shifted, ...(blockLength && { blockLength }), ...(steps && { steps }) },
    };
  };
