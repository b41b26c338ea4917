import type { Tensor } from '@grpo/torch';
import type { UpdateSize } from './aggregation.js';
import type { Share } from './metrics/clip-shares.js';
import type { LossSettings } from './settings.js';
import type { TokenRows } from './token-rows.js';

/** Input of a loss: the T completion tokens of one micro-batch, completion after completion. */
export interface LossInput {
  /** log π(token) of the policy, with gradient: `[T]`. */
  logprobs_T: Tensor;
  /** Entropies of the policy, in nats, with gradient where the loss has an entropy bonus: `[T]`. */
  entropies_T: Tensor;
  /** log π of the old policy: `[T]`; null takes the policy's own, detached: a ratio of exactly 1. */
  oldLogprobs_T: Tensor | null;
  /** log π of the frozen reference; needed when β is not 0. */
  referenceLogprobs_T: Tensor | null;
  /** log π of the sampler when it drew the tokens. */
  samplerLogprobs_T: Tensor | null;
  /** KL to the reference over the whole vocabulary, with gradient; needed for the estimator `full`. */
  fullKl_T: Tensor | null;
  /** Advantage of each completion: `[B]`. */
  advantages: ArrayLike<number>;
  /** Tokens of each completion; they sum to T. */
  lengths: readonly number[];
  /** 1 where a token is trained on: `[T]`; null for all. */
  mask: Uint8Array | null;
  /** Size of the whole optimizer update, of which the micro-batch may be a part. */
  update: UpdateSize;
  /** Weight of the KL to the reference, of each completion: `[B]`. */
  betas: ArrayLike<number>;
  /** Kind of each completion, where the KL is measured for each kind: `[B]`. */
  kinds?: readonly string[] | undefined;
  /** Weight of the entropy bonus. */
  entropyCoefficient: number;
  settings: LossSettings;
}

/** Metrics of a loss, as sums that add up over micro-batches. */
export interface LossMetrics {
  /** Each metric is sum / of. */
  means: Record<string, Share>;
  least?: Record<string, number>;
  most?: Record<string, number>;
}

/** A part of the loss, which it enters as coefficient × value. */
export interface LossPart {
  name: string;
  coefficient: number;
  value: number;
}

/** Per token, detached: `[T]` each. */
export interface LossTerms {
  ratio_T: Tensor;
  /** The policy's term with its masks and corrections. */
  policy_T: Tensor;
  /** The KL, without β. */
  kl_T: Tensor | null;
  /** Weights of the terms in the sum that is the loss; `klWeights_T` where the KL has weights of its own. */
  weights_T: Tensor;
  klWeights_T: Tensor | null;
}

/** Output of a loss. Everything but the loss itself is for records and metrics. */
export interface LossOutput {
  /** The micro-batch's share of the update's loss, a scalar: shares add up, whatever the split. */
  loss: Tensor;
  terms?: Partial<LossTerms>;
  parts?: LossPart[];
  metrics?: LossMetrics;
}

/** A loss reads no configuration and keeps no state. */
export type Loss = (input: LossInput) => LossOutput;

/** Parts of a loss that trainers compute differently; ours are in `loss.ts`, TRL's in `trl.ts`. */
export interface LossConventions {
  /** The input as far as tokens are trained on. */
  trainedOnly(input: LossInput, rows: TokenRows): LossInput;
  /** Weight of each token: `[T]`. */
  weights(input: LossInput, rows: TokenRows): Float64Array;
  /** Share of the update that the micro-batch's mean entropy stands for. */
  entropyShare(input: LossInput, rows: TokenRows): number;
}
