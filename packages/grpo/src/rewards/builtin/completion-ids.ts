import { Reason } from '../describe-error.js';
import type { RewardBatch } from '../reward.js';

/**
 * The token ids of the batch's completions.
 *
 * @throws Reason where whoever scores has the text alone
 */
export function idsIn({ completionIds }: RewardBatch<unknown>): readonly (readonly number[])[] {
  if (completionIds) return completionIds;
  throw new Reason('counts tokens, and the batch has no completionIds');
}
