import type { ResolvedConfig } from '../../config/index.js';
import { byteCount } from '../../errors/byte-count.js';
import { UserError } from '../../errors/user-error.js';
import { estimate } from '../../memory/estimate.js';
import { reasonsOf } from '../../memory/memory-lines.js';
import type { ModelFolder } from '../../models/index.js';
import { resolveDevice } from '../../run/device.js';

/**
 * Bytes that the completions of a served model may take, beside its weights.
 *
 * @param resolved - with `memory` in bytes
 * @throws UserError: the longest sequence does not fit
 */
export function decodingBytes(
  { config, provenance }: ResolvedConfig,
  { config: model }: Pick<ModelFolder, 'config'>,
  maxModelLen: number,
): number {
  const budget = config.memory as number;
  const planned = (longest: number) =>
    estimate(
      {
        model,
        engine: {
          size: config.dtype === 'bfloat16' ? 2 : 4,
          fuses: resolveDevice(config.device) === 'cpu',
        },
        trained: undefined,
        rewardModels: 0,
        evaluation: { prompts: 1, group: 1, longest: longest - 1, newTokens: 1, adjusted: true },
      },
      budget,
    );
  const plan = planned(maxModelLen);
  if (plan.peak <= budget) return plan.lotBytes;
  let length = maxModelLen;
  while (length > 2 && planned(length).peak > budget) length = Math.floor(length / 2);
  throw new UserError(
    `one sequence of ${maxModelLen} tokens needs about ${byteCount(plan.peak)}, and memory allows ${byteCount(budget)} (${provenance.memory}): ${reasonsOf(plan)}`,
    {
      hint:
        length > 2
          ? `It would fit with --max-model-len ${length}.`
          : 'No shorter one would fit: take a smaller model, dtype=bfloat16, or a machine with more memory.',
    },
  );
}
