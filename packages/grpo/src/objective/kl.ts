import type { Tensor } from '@grpo/torch';

/**
 * The k3 estimate of KL(policy ‖ reference) for each token: exp(d) − d − 1 with d = reference − policy
 * (Schulman, "Approximating KL divergence", 2020). Never negative; 0 where the two agree.
 */
export function k3(logprobs_T: Tensor, referenceLogprobs_T: Tensor): Tensor {
  const d = referenceLogprobs_T.sub(logprobs_T);
  return d.expm1().sub(d);
}
