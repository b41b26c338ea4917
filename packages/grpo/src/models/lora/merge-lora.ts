import { noGrad, tidy } from '@grpo/torch';
import type { Decoder } from '../decoder.js';
import { adaptable } from './adaptable.js';

/** Adds the adapters to the weights that they adapt, for good. The result has the same weights, and no adapters. */
export function mergeLora(decoder: Decoder): Decoder {
  const { lora } = decoder;
  noGrad(() => {
    for (const name of adaptable(decoder.config).keys()) {
      const adapter = lora?.of(name);
      const weight = decoder.parameters.get(`${name}.weight`)!;
      if (adapter) tidy(() => weight.copy_(weight.to('float32').add(adapter.product())));
    }
  });
  return decoder.withLora();
}
