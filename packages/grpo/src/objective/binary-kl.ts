import type { Tensor } from '@grpo/torch';

/** Least probability of all other tokens: below it a logarithm of float32 says nothing. */
const LEAST = 1e-8;

/**
 * KL(p ‖ q) where there are two outcomes, the sampled token and any other:
 * p log(p / q) + (1 − p) log((1 − p) / (1 − q)), from log p and log q: `[T]`.
 */
export function binaryKl(p_T: Tensor, q_T: Tensor): Tensor {
  const [others, othersOfQ] = [p_T, q_T].map((log_T) => log_T.expm1().neg().clamp(LEAST, null)) as [
    Tensor,
    Tensor,
  ];
  return p_T
    .exp()
    .mul(p_T.sub(q_T))
    .add(others.mul(others.div(othersOfQ).log()));
}
