/** How much a token weighs in the sum that is the loss, as `objective/aggregation.ts` has it. */

import { sum } from '../../maths/moments.js';
import type { Declared, DeclaredSection } from '../../trace/index.js';
import type { Form } from './form.js';

/** An update in numbers of trained tokens. */
export interface Counts {
  /** Of each of its completions. */
  own: readonly number[];
  /** Completions of each micro-batch, in order; missing where that is not known. */
  sizes: readonly number[] | undefined;
  /** Of each completion of the rollout. */
  all: readonly number[];
}

/** Weight of a trained token of each completion, by each way that is right; as text, what they cannot be told without. */
export function weighings(form: Form, declared: Declared, counts: Counts): (readonly number[])[] | string {
  const { own, all } = counts;
  const { rollout, advantage, objective = {} } = declared;
  const { compat, normalizer = rollout?.maxNewTokens } = objective;
  if (compat === 'trl-1.10' && form.policy === 'clip' && form.aggregation === 'sum')
    return 'a loss that leaves padding out';
  // Some leave completions that are masked as a whole out of the count.
  const rows = [own.length, own.filter((count) => count > 0).length];
  const forRows = (weight: (count: number, completions: number) => number) =>
    rows.map((completions) => own.map((count) => weight(count, completions)));
  switch (form.aggregation) {
    case 'sequence_mean':
      return forRows((count, completions) => 1 / (Math.max(count, 1) * completions));
    case 'sum':
      return forRows((_, completions) => 1 / completions);
    case 'constant':
      return normalizer
        ? forRows((_, completions) => 1 / (completions * normalizer))
        : 'declared.objective.normalizer';
    case 'token_mean': {
      if (compat && advantage?.flat === 'drop') return 'the tokens of groups that were dropped';
      const tokens = { trl: (sum(all) * own.length) / all.length, 'trl-1.10': sum(all), ours: sum(own) };
      return [own.map(() => 1 / tokens[compat ?? 'ours'])];
    }
    case 'micro_token_mean':
      return counts.sizes ? [microWeights(counts.sizes, own)] : 'updates.microBatches.sizes';
  }
}

/** Of each token of the micro-batch, that counts by its completions. */
function microWeights(sizes: readonly number[], own: readonly number[]): number[] {
  let start = 0;
  return sizes.flatMap((size) => {
    const tokens = sum(own.slice(start, start + size));
    start += size;
    return Array<number>(size).fill(size / own.length / Math.max(tokens, 1));
  });
}

/** The same for the KL: of one value a completion, its tokens add up to the mean over completions. */
export const klWeighings = (
  level: DeclaredSection<'kl'>['level'],
  own: readonly number[],
  policys: (readonly number[])[],
): (readonly number[])[] =>
  (level ?? 'token') === 'token' ? policys : [own.map((count) => 1 / (Math.max(count, 1) * own.length))];
