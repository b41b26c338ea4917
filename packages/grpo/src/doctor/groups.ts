import { once } from './once.js';

/** Indices of completions, group by group. */
export type Groups = readonly (readonly number[])[];

/** Indices of the completions of each prompt, in the order of the prompts’ first appearance. */
export const groupsOf = once((promptOf: ArrayLike<number>): Groups => {
  const groups = new Map<number, number[]>();
  for (let b = 0; b < promptOf.length; b++) {
    const group = groups.get(promptOf[b]!);
    if (group) group.push(b);
    else groups.set(promptOf[b]!, [b]);
  }
  return [...groups.values()];
});
