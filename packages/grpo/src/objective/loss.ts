import { type Tensor, tensor } from '@grpo/torch';
import { k3 } from './kl.js';

/** What a loss is computed from: the T completion tokens of one micro-batch, completion after completion. */
export interface LossInput {
  /** log π(token) of the policy, with gradient: `[T]`. */
  logprobs_T: Tensor;
  /** The same when the completions were sampled; null takes the policy's own, detached: a ratio of exactly 1. */
  oldLogprobs_T: Tensor | null;
  /** Of the frozen reference; needed when beta is not 0. */
  referenceLogprobs_T: Tensor | null;
  /** Advantage of the completion that each token belongs to: `[T]`. */
  advantages_T: Tensor;
  /** Tokens of each completion of the micro-batch; they sum to T. */
  lengths: readonly number[];
  /** Size of the whole optimizer update, of which the micro-batch may be a part. */
  update: { completions: number; tokens: number };
  clipLow: number;
  clipHigh: number;
  beta: number;
}

/** Sums over the tokens of a micro-batch: added up over micro-batches and divided by `tokens`, they are the metrics. */
export interface LossMetrics {
  tokens: number;
  kl: number;
  /** Tokens whose ratio fell below 1 − clipLow with a negative advantage: they have no gradient. */
  clippedLow: number;
  /** Tokens whose ratio rose above 1 + clipHigh with a positive advantage. */
  clippedHigh: number;
}

export interface LossOutput {
  /** The micro-batch's share of the update's loss, a scalar: shares add up, whatever the split. */
  loss: Tensor;
  /** Per token, before weighting, detached: `[T]` each. */
  terms: { ratio_T: Tensor; policy_T: Tensor; kl_T: Tensor | null; weights_T: Tensor };
  metrics: LossMetrics;
}

export type Loss = (input: LossInput) => LossOutput;

/**
 * The GRPO losses by name. They share the clipped policy term and the KL, and differ in how much a token counts.
 *
 * - `grpo`: every completion of the update counts the same (DeepSeekMath, eq. 3)
 * - `dapo`: every token of the update counts the same (DAPO, eq. 8)
 */
export const losses = {
  grpo: (input) => clippedLoss(input, (length) => 1 / (length * input.update.completions)),
  dapo: (input) => clippedLoss(input, () => 1 / input.update.tokens),
} satisfies Record<string, Loss>;

export type LossName = keyof typeof losses;

/** Σ weight × (policy term + β × KL), where `weightOf` gives the weight of each token of a completion. */
function clippedLoss(input: LossInput, weightOf: (length: number) => number): LossOutput {
  const { logprobs_T, referenceLogprobs_T, beta } = input;
  const ratio_T = logprobs_T.sub(input.oldLogprobs_T ?? logprobs_T.detach()).exp();
  const policy_T = policyTerm(ratio_T, input);
  if (beta !== 0 && !referenceLogprobs_T)
    throw new TypeError('beta is not 0, but no reference log-probs were given');
  const kl_T = beta !== 0 && referenceLogprobs_T ? k3(logprobs_T, referenceLogprobs_T) : null;
  const weights_T = tensor(
    input.lengths.flatMap((length) => Array<number>(length).fill(weightOf(length))),
    undefined,
    { dtype: logprobs_T.dtype, device: logprobs_T.device },
  );
  const perToken_T = kl_T ? policy_T.add(kl_T.mul(beta)) : policy_T;
  return {
    loss: perToken_T.mul(weights_T).sum(),
    terms: {
      ratio_T: ratio_T.detach(),
      policy_T: policy_T.detach(),
      kl_T: kl_T?.detach() ?? null,
      weights_T,
    },
    metrics: {
      tokens: logprobs_T.size(0),
      kl: kl_T ? kl_T.detach().sum().item() : 0,
      ...clipped(ratio_T.detach(), input),
    },
  };
}

/** −min(ratio × A, clip(ratio) × A): PPO's pessimistic bound (Schulman et al., 2017). */
function policyTerm(ratio_T: Tensor, { advantages_T, clipLow, clipHigh }: LossInput): Tensor {
  const bounded_T = ratio_T.clamp(1 - clipLow, 1 + clipHigh);
  return ratio_T.mul(advantages_T).minimum(bounded_T.mul(advantages_T)).neg();
}

function clipped(
  ratio_T: Tensor,
  { advantages_T, clipLow, clipHigh }: LossInput,
): { clippedLow: number; clippedHigh: number } {
  const low = ratio_T.lt(1 - clipLow).logicalAnd(advantages_T.lt(0));
  const high = ratio_T.gt(1 + clipHigh).logicalAnd(advantages_T.gt(0));
  return { clippedLow: low.sum().item(), clippedHigh: high.sum().item() };
}
