import type { ScoredGroup } from '../objective/index.js';

/** Anything that is tokens: a rendered prompt, a completion. */
interface Tokens {
  ids: readonly number[];
}

/** P prompts and their B completions, the same number of each, prompt after prompt. */
export interface Groups {
  prompts: readonly Tokens[];
  completions_B: readonly Tokens[];
}

/** Completions that are computed together. */
export interface MicroBatch {
  groups: ScoredGroup[];
  /** Where these completions stand among the B. */
  members: number[];
}

/**
 * Cuts groups into micro-batches of at most `budget` tokens, each prompt counted once in each that it is in.
 * A completion that exceeds the budget with its prompt alone gets a micro-batch of its own.
 *
 * @param chosen - the prompts whose groups are wanted
 */
export function microBatches(
  { prompts, completions_B }: Groups,
  chosen: readonly number[],
  budget: number,
): MicroBatch[] {
  const size = completions_B.length / prompts.length;
  const batches: MicroBatch[] = [];
  let room = 0;
  for (const p of chosen) {
    const prompt = prompts[p]!.ids;
    /** This prompt's completions in the last micro-batch. */
    let group: (readonly number[])[] | undefined;
    for (let b = p * size; b < (p + 1) * size; b++) {
      const completion = completions_B[b]!.ids;
      let batch = batches.at(-1);
      if (!batch || completion.length + (group ? 0 : prompt.length) > room) {
        batch = { groups: [], members: [] };
        batches.push(batch);
        group = undefined;
        room = budget;
      }
      if (!group) {
        group = [];
        batch.groups.push({ prompt, completions: group });
        room -= prompt.length;
      }
      group.push(completion);
      batch.members.push(b);
      room -= completion.length;
    }
  }
  return batches;
}
