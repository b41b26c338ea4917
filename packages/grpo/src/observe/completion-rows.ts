import { groundsOf } from '../rewards/index.js';
import type { Batch } from '../step/batch.js';

/**
 * Rows of `completions.jsonl`.
 *
 * @param learnt - what the algorithm made of completion b
 */
export function completionRows(batch: Batch, step: number, learnt: (b: number) => object) {
  const { completions_B, prompts, rewardTable, rewards_B } = batch;
  const { names, columns } = batch.compared;
  return completions_B.map((completion, b) => ({
    step,
    prompt: batch.problemOf(b),
    index: b % batch.groupSize,
    prompt_text: prompts[batch.problemOf(b)]!.text,
    completion: completion.text,
    finish_reason: completion.finishReason,
    length: completion.ids.length,
    reward: rewards_B[b],
    rewards: Object.fromEntries(names.map((name, k) => [name, columns[k]![b]])),
    ...groundsOf(rewardTable, b),
    ...learnt(b),
  }));
}
