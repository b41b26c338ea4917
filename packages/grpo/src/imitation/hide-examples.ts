import { uniform } from '../maths/random.js';
import type { MaskedCompletion } from '../objective/index.js';
import type { Example } from './examples.js';

/** How the examples of a step are hidden from a masked-diffusion model. */
export interface HidingOptions {
  /** Places of a region: those after the completion are filled with `endId`. A longer completion has more. */
  width: number;
  endId: number;
  /** Tokens that the model's context holds, the prompt's included. */
  maxPositions: number;
  /** Draws the shares and the places. */
  seed: number;
}

/** Stands for the number of a place in the draw of a share. */
const SHARE = -1;

/**
 * The examples as a masked-diffusion model learns them: of each a share t of the region is hidden, drawn evenly from
 * (0, 1], and the log-prob of a hidden token counts 1 / t. The expected sum bounds the log-prob of the region from below
 * (LLaDA: Nie et al., 2025, equation 3).
 */
export function hideExamples(
  examples: readonly Example[],
  { width, endId, maxPositions, seed }: HidingOptions,
): MaskedCompletion[] {
  return examples.map(({ prompt, completion }, i) => {
    const length = Math.max(completion.length, Math.min(width, maxPositions - prompt.length));
    const region = [...completion, ...Array<number>(length - completion.length).fill(endId)];
    const share = 1 - uniform(seed, i, SHARE);
    const hidden = Uint8Array.from(region, (_, place) => Number(uniform(seed, i, place) < share));
    return { region, plan: [{ prompt: new Uint8Array(prompt.length), region: hidden, weight: 1 / share }] };
  });
}
