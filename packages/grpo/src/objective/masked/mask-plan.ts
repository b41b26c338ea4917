/** One pass over a completion of a masked-diffusion model: what it hides, and what its log-probs count. */
export interface MaskedView {
  /** 1 where a token of the prompt is hidden: `[P]`. */
  prompt: Uint8Array;
  /** 1 where a place of the region is hidden: `[W]`. */
  region: Uint8Array;
  /** Factor of the log-prob of each token that this pass hides, in the sum that is the estimate. */
  weight: number;
}

/** The passes from which the log-probs of a completion are estimated. */
export type MaskPlan = readonly MaskedView[];

/** A completion of a masked-diffusion model as it is scored. */
export interface MaskedCompletion {
  /** All ids of the region, those after the end of the completion as well: `[W]`. */
  region: readonly number[];
  plan: MaskPlan;
}

/** A completion with its whole region hidden and its prompt open, in one pass. */
export const hiddenRegion = (prompt: readonly number[], region: readonly number[]): MaskedCompletion => ({
  region,
  plan: [{ prompt: new Uint8Array(prompt.length), region: new Uint8Array(region.length).fill(1), weight: 1 }],
});
