import { permutation } from '../maths/random.js';
import type { Batch } from '../step/batch.js';

/** Prompts that are computed again, and completions of each: a prompt that is shared, and two that are not one. */
const PROMPTS = 2;
const COMPLETIONS = 2;

/** Tokens up to which a sequence costs little beside a step: attention is computed whole. */
const SHORT = 1024;

/**
 * The completions that are computed again, drawn by seed and step: of prompts that teach something, where there are such,
 * and of their completions a better and a worse one.
 */
export function chosenOf(batch: Batch, seed: number, step: number): number[] {
  const { problems, prompts, completions_B, groupSize } = batch;
  const { advantages } = batch.advantages;
  const teaches = (b: number) => advantages[b] !== 0;
  const beyond = (b: number) =>
    Math.max(0, prompts[batch.problemOf(b)]!.ids.length + completions_B[b]!.ids.length - SHORT);
  const groups = permutation(problems.length, seed, step).map((p) =>
    permutation(groupSize, seed, step, p)
      .map((g) => p * groupSize + g)
      .sort((a, b) => beyond(a) - beyond(b) || Number(teaches(b)) - Number(teaches(a))),
  );
  groups.sort((a, b) => beyond(a[0]!) - beyond(b[0]!) || Number(teaches(b[0]!)) - Number(teaches(a[0]!)));
  return groups
    .slice(0, PROMPTS)
    .flatMap(([first, ...others]) => {
      const isOther = (b: number) => Math.sign(advantages[b]!) !== Math.sign(advantages[first!]!);
      others.sort((a, b) => beyond(a) - beyond(b) || Number(isOther(b)) - Number(isOther(a)));
      return [first!, ...others.slice(0, COMPLETIONS - 1)];
    })
    .sort((a, b) => a - b);
}
