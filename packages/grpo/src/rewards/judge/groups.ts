import { isDeepStrictEqual } from 'node:util';
import type { RewardBatch } from '../reward.js';

/**
 * The groups of a batch, as places in it: neighbours with one prompt and one row. Two problems that are the same, one
 * after the other, are one group.
 */
export function groupsIn({ prompts, rows }: Pick<RewardBatch<unknown>, 'prompts' | 'rows'>): number[][] {
  const groups: number[][] = [];
  for (const i of prompts.keys()) {
    const joins =
      i > 0 && isDeepStrictEqual(prompts[i], prompts[i - 1]) && isDeepStrictEqual(rows[i], rows[i - 1]);
    if (joins) groups.at(-1)!.push(i);
    else groups.push([i]);
  }
  return groups;
}
