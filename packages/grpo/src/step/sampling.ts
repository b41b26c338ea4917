import { truncates } from '../config/rules/inert.js';
import type { Config } from '../config/schema.js';
import { plainSampling, type SamplingOptions } from '../rollout/index.js';

/**
 * How completions are sampled.
 *
 * @param stop - the task's stop strings
 * @param lotBytes - memory for completions that are decoded at once
 */
export function samplingOf(
  { rollout, diffusion }: Config,
  stop: readonly string[],
  lotBytes = plainSampling.lotBytes,
): SamplingOptions {
  const { blockLength, steps, remasking } = diffusion;
  const { maxNewTokens, minNewTokens, temperature, topP, topK, minP, invariant } = rollout;
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = rollout;
  return {
    ...{ maxNewTokens, minNewTokens, temperature, topP, topK, minP, invariant },
    keepSupport: rollout.keepSupport && truncates(rollout),
    ...{ repetitionPenalty, presencePenalty, frequencyPenalty },
    ...{ stop, diffusion: { blockLength, steps, remasking }, lotBytes },
  };
}
