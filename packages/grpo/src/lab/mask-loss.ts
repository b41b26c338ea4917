import { sum } from '../maths/moments.js';
import { type Stages, stages as standard } from '../step/stages.js';
import { lossWith } from './plain-loss.js';

/**
 * Stages whose loss covers only the tokens that `keep` says, each with the same weight.
 *
 * @param keep - 1 or 0 for each token of a completion
 */
export function maskLoss(
  keep: (completion: readonly number[], prompt: readonly number[]) => number[],
): Pick<Stages, 'logprob' | 'objective'> {
  let mask: number[] = [];
  return {
    logprob(decoder, groups, ...rest) {
      mask = groups.flatMap(({ prompt, completions }) => completions.flatMap((ids) => keep(ids, prompt)));
      return standard.logprob(decoder, groups, ...rest);
    },
    objective: lossWith({
      weights({ lengths }) {
        // The audit asks for the loss of other rows than those that were scored last.
        const own = mask.length === sum(lengths) ? mask : Array<number>(sum(lengths)).fill(1);
        const tokens = sum(own);
        return own.map((kept) => kept / tokens);
      },
    }),
  };
}
