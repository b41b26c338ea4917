/** A prompt's completions that are computed together; indices into the rollout. */
export interface GroupPart {
  prompt: number;
  completions: number[];
}

/** Lengths in tokens, by prompt and by completion. */
export interface Lengths {
  prompts: readonly number[];
  completions: readonly number[];
}

/**
 * Cuts a rollout into micro-batches of at most `budget` tokens, each prompt counted once in each that it is in.
 * A completion that exceeds the budget with its prompt alone gets a micro-batch of its own.
 *
 * @param groupSize - completions of prompt p are p × groupSize … (p + 1) × groupSize − 1
 */
export function microBatches(
  prompts: readonly number[],
  lengths: Lengths,
  groupSize: number,
  budget: number,
): GroupPart[][] {
  const batches: GroupPart[][] = [];
  let room = 0;
  for (const prompt of prompts) {
    for (let i = 0; i < groupSize; i++) {
      const completion = prompt * groupSize + i;
      const own = lengths.completions[completion]!;
      const open = batches.at(-1)?.at(-1);
      const joins = open?.prompt === prompt;
      const cost = joins ? own : own + lengths.prompts[prompt]!;
      if (batches.length > 0 && cost <= room) {
        if (joins) open.completions.push(completion);
        else batches.at(-1)!.push({ prompt, completions: [completion] });
        room -= cost;
      } else {
        batches.push([{ prompt, completions: [completion] }]);
        room = budget - own - lengths.prompts[prompt]!;
      }
    }
  }
  return batches;
}
