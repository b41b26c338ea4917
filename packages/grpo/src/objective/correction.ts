import { noGrad, type Tensor, where } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import type { TokenRows } from './token-rows.js';

/**
 * Importance weights for a sampler whose log-probs are not quite the trainer's: exp(trainer − sampler) of each token, or
 * of a completion's sum, bounded or masked: `[T]`, detached (truncated importance sampling, Yao et al., 2025).
 *
 * @param trainer_T - log-probs of the policy that sampled, by the trainer
 * @param sampler_T - the same by the sampler
 */
export function samplerCorrection(
  { level, action, min, max }: Config['correction'],
  trainer_T: Tensor,
  sampler_T: Tensor,
  rows: TokenRows,
): Tensor {
  return noGrad(() => {
    const gap_T = trainer_T.sub(sampler_T);
    const weight_T = (level === 'token' ? gap_T : rows.spread(rows.sum(gap_T))).exp();
    if (action === 'truncate')
      return min === undefined && max === undefined ? weight_T : weight_T.clamp(min ?? null, max ?? null);
    const inside_T = weight_T.ge(min ?? 0).logicalAnd(weight_T.le(max ?? Number.POSITIVE_INFINITY));
    return where(inside_T, weight_T, 0);
  });
}
