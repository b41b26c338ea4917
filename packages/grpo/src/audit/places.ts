import type { Completion } from '../rollout/index.js';
import type { Batch } from '../step/batch.js';
import type { Trainer } from '../step/trainer.js';

/** The problem of a completion: completions stand problem after problem, as many of each. */
export const problemOf = (
  { problems, completions_B }: { problems: readonly unknown[]; completions_B: readonly unknown[] },
  completion: number,
): number => Math.floor((completion * problems.length) / completions_B.length);

/** The sampler's log-probs of a completion under the distribution that is trained: over its support, where it has one. */
export const samplerLogprobs = ({ logprobs, sampledLogprobs, support }: Completion): Float32Array =>
  support ? sampledLogprobs : logprobs;

/** Whether a group was sampled before the run was resumed: settings and rewards may have been others then. */
export function isOfEarlierRun({ begun }: Trainer, { exchange }: Batch, prompt: number): boolean {
  const stored = exchange?.replayed.get(prompt);
  return stored !== undefined && stored.step < (begun?.steps ?? 0);
}
