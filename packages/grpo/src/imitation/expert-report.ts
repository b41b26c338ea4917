/** What a round of expert iteration tells. */
import { mean } from '../maths/moments.js';
import type { Batch } from '../step/batch.js';
import type { SftResult } from './sft.js';

/** How many completions were kept, of how many problems, and how long they are. */
export function keptMetrics(batch: Batch, kept: readonly number[]): Record<string, number> {
  const { problems, completions_B } = batch;
  const solved = new Set(kept.map((b) => batch.problemOf(b)));
  return {
    kept: kept.length,
    kept_problems: solved.size / problems.length,
    ...(kept.length > 0 && { kept_mean_length: mean(kept.map((b) => completions_B[b]!.ids.length)) }),
  };
}

/** Means over the updates of a round; where there was none, there are none. */
export function updateMetrics(updates: readonly SftResult[]): Record<string, number> {
  if (updates.length === 0) return { updates: 0 };
  return {
    updates: updates.length,
    loss: mean(updates.map(({ loss }) => loss)),
    grad_norm: mean(updates.map(({ gradNorm }) => gradNorm)),
    entropy: mean(updates.map(({ entropy }) => entropy)),
  };
}

/** What to say of a round that has nothing to imitate. */
export function nothingKept({ rewards_B, completions_B }: Batch, threshold: number | undefined): string {
  const wanted = threshold === undefined ? 'is right' : `has a reward of ${threshold} or more`;
  const known = rewards_B.filter((reward) => !Number.isNaN(reward));
  const highest =
    known.length > 0 ? `the highest reward is ${Math.max(...known).toFixed(3)}` : 'none has a reward';
  const cut = completions_B.filter(({ finishReason }) => finishReason === 'length').length;
  return (
    `nothing kept, so nothing learnt: none of the ${completions_B.length} completions ${wanted}; ` +
    `${highest}, and ${cut} ${cut === 1 ? 'is' : 'are'} cut at rollout.maxNewTokens. Read some of them in completions.jsonl.`
  );
}
