/** Real errors of the engine's allocator, at a place of one's choice. */
import { empty, type Tensor } from '@grpo/torch';
import type { Decoder } from '../models/index.js';
import { scoreTokens } from '../objective/index.js';
import type { Stages } from '../step/stages.js';

// 140 TB in float32: more than any machine can address.
const TOO_MANY = 2 ** 45;

/** Fails as a forward pass does. */
export const exhaust = (): Tensor => empty([TOO_MANY]);

/** Zero, at no cost; its backward pass needs more memory than there is. */
function costlyZero(decoder: Decoder): Tensor {
  const [parameter] = decoder.parameters.values();
  const one = parameter!.flatten().narrow(0, 0, 1);
  return one.expand([TOO_MANY]).narrow(0, 0, 1).mul(0);
}

/**
 * A logprob stage that runs out of memory in the given calls, counted from 1, in the forward pass or at the end of the
 * backward pass, when all other gradients are there.
 */
export function failingLogprob(
  pass: 'forward' | 'backward',
  fails: (call: number) => boolean,
): { logprob: Stages['logprob']; calls: () => number } {
  let calls = 0;
  return {
    calls: () => calls,
    logprob(decoder, groups, temperature) {
      calls++;
      if (!fails(calls)) return scoreTokens(decoder, groups, temperature);
      if (pass === 'forward') {
        scoreTokens(decoder, groups, temperature);
        exhaust();
      }
      // Made first, so that the backward pass comes to it last.
      const zero = costlyZero(decoder);
      const { logprobs_T, entropies_T } = scoreTokens(decoder, groups, temperature);
      return { logprobs_T: logprobs_T.add(zero), entropies_T };
    },
  };
}
