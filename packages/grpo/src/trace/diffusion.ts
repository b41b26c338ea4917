/** What a masked-diffusion model filled, and the passes from which its log-probs were estimated. */
import { z } from 'zod';
import { bytes, doubles, ints } from './arrays.js';

const count = z.number().int().nonnegative();

/** The mask plans of one iteration: every pass over every completion, completion after completion. */
const maskPlansSchema = z.object({
  /** Passes over each completion, 0 where it was not scored. `[B]` */
  views: ints,
  /** Keys of the random draws, after the seed and before prompt, completion within its group, and place. */
  keys: ints.optional(),
  /** What the log-prob of a token that a pass hides counts in the estimate. `[views]` */
  weights: doubles,
  /** 1 where a token of the prompt is hidden, pass after pass. */
  prompt: bytes,
  /** 1 where a place of the region is hidden, pass after pass. */
  region: bytes,
});

export const diffusionSchema = z.object({
  /** The token that stands at a hidden place. */
  maskId: count,
  /** Whether the logits of a place predict the token after it. */
  shifted: z.boolean().optional(),
  /** Places that were filled before the next block began. */
  blockLength: count.optional(),
  /** Denoising steps of a whole region. */
  steps: count.optional(),
  /** Places of each region: the completion, and what was filled after its end. `[B]` */
  widths: ints.optional(),
  /** The tokens of each region. `[widths]` */
  region: ints.optional(),
  /** The denoising step that filled each place, from 0. `[widths]` */
  order: ints.optional(),
  /** By iteration over the rollout. */
  plans: z.array(maskPlansSchema).optional(),
});

export type DiffusionRecord = z.output<typeof diffusionSchema>;
export type MaskPlansRecord = z.output<typeof maskPlansSchema>;

/** One pass over a completion. */
export interface RecordedView {
  prompt: Uint8Array;
  region: Uint8Array;
  weight: number;
}

/**
 * The passes over each completion.
 *
 * @param promptLengths - of the prompt of each completion
 */
export function viewsOf(
  { views, weights, prompt, region }: MaskPlansRecord,
  promptLengths: ArrayLike<number>,
  widths: ArrayLike<number>,
): RecordedView[][] {
  let [view, promptAt, regionAt] = [0, 0, 0];
  return Array.from(views, (count, b) =>
    Array.from({ length: count }, () => {
      const own = {
        prompt: prompt.subarray(promptAt, promptAt + promptLengths[b]!),
        region: region.subarray(regionAt, regionAt + widths[b]!),
        weight: weights[view]!,
      };
      view++;
      promptAt += promptLengths[b]!;
      regionAt += widths[b]!;
      return own;
    }),
  );
}
