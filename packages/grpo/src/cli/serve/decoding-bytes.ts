import { compilesEachShape } from '@grpo/torch';
import type { ResolvedConfig } from '../../config/index.js';
import { byteCount } from '../../errors/byte-count.js';
import { UserError } from '../../errors/user-error.js';
import type { Engine } from '../../memory/decoding.js';
import { estimate } from '../../memory/estimate.js';
import { bytesForRoom, lotBytes, roomOfLots } from '../../memory/room.js';
import { leastServingBytes } from '../../memory/serving.js';
import type { ModelFolder } from '../../models/index.js';
import { resolveDevice } from '../../run/device.js';

/**
 * Bytes that decoding may take beside the weights of a served model.
 *
 * @param resolved - with `memory` in bytes
 * @param options.takesAll - all that `memory` leaves; otherwise what makes decoding faster, and the longest sequence: a
 * trainer may be on the same machine
 * @throws UserError: the longest sequence does not fit
 */
export function decodingBytes(
  { config, provenance }: ResolvedConfig,
  { config: model }: Pick<ModelFolder, 'config'>,
  { maxModelLen, takesAll }: { maxModelLen: number; takesAll: boolean },
): number {
  const budget = config.memory as number;
  const onCpu = resolveDevice(config.device) === 'cpu';
  const engine: Engine = { size: config.dtype === 'bfloat16' ? 2 : 4, fuses: onCpu };
  const compiles = onCpu && compilesEachShape(config.dtype);
  const { free } = estimate({ model, engine, compiles, trained: undefined, rewardModels: 0 }, budget);
  const room = roomOfLots(model, engine, free);
  const needed = (length: number) =>
    leastServingBytes(model, engine, { length: length - 1, count: 1, newTokens: 1, adjusted: true });
  const longest = needed(maxModelLen);
  if (longest > room) {
    let length = maxModelLen;
    while (length > 2 && needed(length) > room) length = Math.floor(length / 2);
    throw new UserError(
      `one sequence of ${maxModelLen} tokens needs ${byteCount(longest)} beside the model; memory, ${byteCount(budget)} (${provenance.memory}), leaves ${byteCount(room)}`,
      {
        hint:
          length > 2
            ? `It would fit with --max-model-len ${length}.`
            : 'No shorter one would fit: take a smaller model, dtype=bfloat16, or a machine with more memory.',
      },
    );
  }
  return takesAll ? free : bytesForRoom(model, engine, Math.max(longest, lotBytes(model, engine, free)));
}
