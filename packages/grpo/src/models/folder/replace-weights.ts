import { isDeepStrictEqual } from 'node:util';
import { noGrad } from '@grpo/torch';
import { UserError } from '../../errors/user-error.js';
import type { Watch } from '../../progress/watch.js';
import type { Decoder } from '../decoder.js';
import { parameterSpecs } from '../parameters.js';
import { readShape } from './folder.js';
import { loadParameters } from './load-parameters.js';

/**
 * Puts the weights of a model folder into a decoder of the same shape, in its dtype and on its device. All are read
 * before the first is replaced: after an error the decoder has its old weights.
 *
 * @throws UserError: the folder holds a model of another shape. UserError, FileError, FormatError as `loadModel` does
 */
export function replaceWeights(decoder: Decoder, dir: string, watch?: Watch): void {
  const { config, parameters, dtype, device } = decoder;
  const found = readShape(dir);
  if (!isDeepStrictEqual(found, config)) {
    const differing = Object.keys({ ...config, ...found }).filter(
      (key) => !isDeepStrictEqual(found[key as keyof typeof found], config[key as keyof typeof config]),
    );
    throw new UserError(
      `${dir} holds a model of another shape: its config.json differs in ${differing.join(', ')}`,
      {
        hint: 'Weights can be replaced by those of the same model only; start a server for the other one.',
      },
    );
  }
  const read = loadParameters(dir, parameterSpecs(config), { dtype, device, watch });
  noGrad(() => {
    for (const [name, tensor] of read) {
      parameters.get(name)!.copy_(tensor);
      tensor.dispose();
    }
  });
}
