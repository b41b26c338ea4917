import type { Config } from '../config/schema.js';
import { plainSampling, type SamplingOptions } from '../rollout/index.js';

/**
 * How completions are sampled.
 *
 * @param stop - the task's stop strings
 * @param lotBytes - memory for completions that are decoded at once
 */
export function samplingOf(
  { rollout: { prompts: _, group: __, ...options }, diffusion }: Config,
  stop: readonly string[],
  lotBytes = plainSampling.lotBytes,
): SamplingOptions {
  const { blockLength, steps, remasking } = diffusion;
  return { ...options, stop, diffusion: { blockLength, steps, remasking }, lotBytes };
}
