import { noGrad, type Tensor, where } from '@grpo/torch';
import type { PolicyTerm } from '../config/choices.js';
import { binaryKl } from './binary-kl.js';
import type { Ratio } from './ratio.js';
import type { LossSettings } from './settings.js';
import type { TokenRows } from './token-rows.js';

/** Input of a policy term. */
export interface PolicyInput extends Ratio {
  /** With gradient: `[T]`. */
  logprobs_T: Tensor;
  /** Advantage of each completion, and of the completion that each token belongs to: `[B]`, `[T]`. */
  advantages_B: Tensor;
  advantages_T: Tensor;
  /** Trainer to sampler, token by token, detached; null without a correction. */
  correction_T: Tensor | null;
  rows: TokenRows;
  settings: LossSettings;
}

/** Loss of each token, before weights: `[T]`. */
export type PolicyFunction = (input: PolicyInput) => Tensor;

/** −min(ratio × A, clip(ratio) × A): PPO's pessimistic bound (Schulman et al., 2017, eq. 7). */
export const clip = ({
  ratio_T,
  advantages_T,
  settings: { clipLow, clipHigh, delta },
}: Pick<PolicyInput, 'ratio_T' | 'advantages_T'> & {
  settings: Pick<LossSettings, 'clipLow' | 'clipHigh' | 'delta'>;
}): Tensor => {
  const free_T = delta === undefined ? ratio_T : ratio_T.clamp(null, delta);
  const bounded_T = ratio_T.clamp(1 - clipLow, 1 + clipHigh);
  return free_T.mul(advantages_T).minimum(bounded_T.mul(advantages_T)).neg();
};

/** −A × log π (Williams, 1992). */
export const reinforce = ({
  logprobs_T,
  advantages_T,
}: Pick<PolicyInput, 'logprobs_T' | 'advantages_T'>): Tensor => logprobs_T.mul(advantages_T).neg();

/** −stop(min(ratio, cap)) × A × log π: clipped tokens keep a gradient (MiniMax-M1, eq. 4). */
const cispo: PolicyFunction = ({ logprobs_T, ratio_T, advantages_T, settings }) =>
  ratio_T.detach().clamp(null, settings.cap).mul(advantages_T).mul(logprobs_T).neg();

/** −σ(τ (ratio − 1)) × 4/τ × A: a soft gate in place of a clip; τ by the sign of A (SAPO, eq. 6). */
const sapo: PolicyFunction = ({ ratio_T, advantages_T, settings: { slopePositive, slopeNegative } }) => {
  const slope_T = chosen(advantages_T.gt(0), slopePositive, slopeNegative, ratio_T);
  const gate_T = ratio_T.sub(1).mul(slope_T).sigmoid().mul(4).div(slope_T);
  return gate_T.mul(advantages_T).neg();
};

const LEAST_LOG = Math.log(1e-8);
const MOST_LOG = 20;

/**
 * VESPO's weight of each completion, from its importance weight w: φ = w^k × exp(λ (1 − w)), 1 where w is 1,
 * and 0 in place of a value that is not finite: `[B]`, detached.
 */
export function vespoWeights({
  difference_T,
  correction_T,
  advantages_B,
  rows,
  settings: { vespoPositive, vespoNegative },
}: Omit<PolicyInput, 'logprobs_T' | 'advantages_T' | 'ratio_T'>): Tensor {
  return noGrad(() => {
    const own_B = rows.sum(difference_T.clamp(-MOST_LOG, MOST_LOG));
    const samplers_B = correction_T && rows.sum(correction_T.log().clamp(LEAST_LOG, MOST_LOG));
    const log_B = (samplers_B ? own_B.add(samplers_B) : own_B).clamp(LEAST_LOG, MOST_LOG);
    const isPositive_B = advantages_B.ge(0);
    const k_B = chosen(isPositive_B, vespoPositive[0], vespoNegative[0], log_B);
    const lambda_B = chosen(isPositive_B, vespoPositive[1], vespoNegative[1], log_B).clamp(1e-4, null);
    const phi_B = lambda_B.add(k_B.mul(log_B)).sub(lambda_B.mul(log_B.exp())).exp();
    return where(phi_B.isfinite(), phi_B, 0);
  });
}

/** −φ × A × log π: sequences far from the old policy count less, without a clip (VESPO). */
const vespo: PolicyFunction = (input) =>
  input.rows.spread(vespoWeights(input)).mul(input.advantages_T).mul(input.logprobs_T).neg();

/** −exp(mean of one-sidedly clipped log-ratios) × A: the geometric mean of a completion's ratios (GMPO, eq. 4). */
const gmpo: PolicyFunction = ({ difference_T, advantages_T, rows, settings: { clipLow, clipHigh } }) => {
  const bounded_T = difference_T.clamp(-clipLow, clipHigh);
  const clipped_T = where(
    advantages_T.gt(0),
    difference_T.minimum(bounded_T),
    difference_T.maximum(bounded_T),
  );
  return rows.spread(rows.mean(clipped_T).exp()).mul(advantages_T).neg();
};

/**
 * Distance of policy and old policy at a token, of the two outcomes that the token makes: itself or any other one.
 * - `dppo_tv`: their total variation, |π − π_old| of the token (DPPO, eq. 13)
 * - `dppo_kl`: KL(π_old ‖ π) (DPPO, eq. 14)
 */
const divergences = {
  dppo_tv: (logprobs_T: Tensor, old_T: Tensor) => logprobs_T.exp().sub(old_T.exp()).abs(),
  dppo_kl: (logprobs_T: Tensor, old_T: Tensor) => binaryKl(old_T, logprobs_T),
};

/** Input of the trust region of DPPO. */
export type TrustRegionInput = Pick<PolicyInput, 'logprobs_T' | 'difference_T' | 'advantages_T'> & {
  settings: Pick<LossSettings, 'divergenceLow' | 'divergenceHigh'>;
};

/** Whether a token is further from the old policy than its bound, on the side to which its advantage pushes it: `[T]`. */
export function leftTrustRegion(
  policy: keyof typeof divergences,
  { logprobs_T, difference_T, advantages_T, settings: { divergenceLow, divergenceHigh } }: TrustRegionInput,
): Tensor {
  return noGrad(() => {
    const isPushedUp_T = advantages_T.gt(0);
    const isAway_T = where(isPushedUp_T, difference_T, difference_T.neg()).gt(0);
    const bound_T = chosen(isPushedUp_T, divergenceHigh, divergenceLow, difference_T);
    const divergence_T = divergences[policy](logprobs_T, logprobs_T.sub(difference_T));
    return divergence_T.gt(bound_T).logicalAnd(isAway_T);
  });
}

/**
 * −stop(min(ratio, cap)) × A × log π, with the token's own ratio; 0 for tokens that left the trust region (DPPO, eqs. 11
 * and 12; arXiv 2602.04879). The authors' code, verl and TRL cap the ratio at 20 and take it as a weight: below the cap
 * the gradient is that of the paper's ratio × A.
 */
const dppo =
  (policy: keyof typeof divergences): PolicyFunction =>
  (input) => {
    const { logprobs_T, difference_T, advantages_T, settings } = input;
    const ratio_T = difference_T.detach().exp().clamp(null, settings.cap);
    const weight_T = where(leftTrustRegion(policy, input).logicalNot(), ratio_T, 0);
    return weight_T.mul(advantages_T).mul(logprobs_T).neg();
  };

export const policyTerms: Record<PolicyTerm, PolicyFunction> = {
  clip,
  reinforce,
  cispo,
  sapo,
  vespo,
  gmpo,
  dppo_tv: dppo('dppo_tv'),
  dppo_kl: dppo('dppo_kl'),
};

/** One number where the condition holds, another elsewhere. */
function chosen(condition_T: Tensor, yes: number, no: number, like_T: Tensor): Tensor {
  const yes_T = condition_T.to(like_T.dtype);
  return yes_T.mul(yes - no).add(no);
}
