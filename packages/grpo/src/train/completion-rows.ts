import { groundsOf } from '../rewards/index.js';
import type { Rollout } from './batch.js';
import type { StepRow } from './run-folder.js';

/**
 * Rows of `completions.jsonl`.
 *
 * @param learnt - what the algorithm made of completion b
 */
export function completionRows(
  { completions_B, prompts, rewardTable, rewards_B }: Rollout,
  step: number,
  learnt: (b: number) => object,
): StepRow[] {
  const group = completions_B.length / prompts.length;
  return completions_B.map((completion, b) => ({
    step,
    prompt: Math.floor(b / group),
    index: b % group,
    prompt_text: prompts[Math.floor(b / group)]!.text,
    completion: completion.text,
    finish_reason: completion.finishReason,
    length: completion.ids.length,
    reward: rewards_B[b],
    rewards: Object.fromEntries(rewardTable.names.map((name, k) => [name, rewardTable.columns[k]![b]])),
    ...groundsOf(rewardTable, b),
    ...learnt(b),
  }));
}
