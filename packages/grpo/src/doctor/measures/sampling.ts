/** What the declared sampling does to log-probs. */
import type { DeclaredSection, StepRecord } from '../../trace/index.js';
import { inputs } from '../inputs.js';
import { type Gap, toleranceOf } from '../tolerance.js';
import { compareFirst } from './first-update.js';

/** How far the policy's log-probs at the first update lie from the sampler's; undefined where one of them is missing. */
export function samplerGap(record: StepRecord): Gap | undefined {
  const policy = inputs.firstPolicyLogprobs.from(record);
  const sampler = inputs.comparableLogprobs.from(record);
  return policy && sampler && compareFirst(record, policy, sampler);
}

/**
 * Whether the sampler makes no token less likely than the policy, beyond the half of the tolerance that rounding may take
 * on either side. Truncation divides by the probability that it keeps; a lower temperature lowers unlikely tokens.
 */
export const lowersNone = ({ mean, signed }: Gap, record: StepRecord): boolean =>
  (mean + signed) / 2 <= toleranceOf(record).mean / 2;

/** Whether tokens are drawn from a part of the distribution only. */
export const truncates = ({ topP = 1, topK = 0, minP = 0 }: DeclaredSection<'rollout'>): boolean =>
  topP < 1 || topK > 0 || minP > 0;

/** Whether tokens that were drawn before are made less likely. */
export const hasPenalties = ({
  repetitionPenalty = 1,
  presencePenalty = 0,
  frequencyPenalty = 0,
}: DeclaredSection<'rollout'>): boolean =>
  repetitionPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0;
