import type { Tensor } from '@grpo/torch';
import type { KlEstimator } from '../config/choices.js';
import type { Config } from '../config/schema.js';
import type { TokenRows } from './token-rows.js';

/** KL(policy ‖ reference) of one sampled token, from d = reference − policy log-prob. */
type Estimate = (d: Tensor) => Tensor;

/**
 * The k3 estimate: exp(d) − d − 1 (Schulman, "Approximating KL divergence", 2020). Never negative; 0 where the two
 * agree.
 */
const k3: Estimate = (d) => d.expm1().sub(d);

/** `full` is no estimate: it is computed over the vocabulary where the logits are. */
const estimates: Record<Exclude<KlEstimator, 'full'>, Estimate> = {
  k1: (d) => d.neg(),
  k2: (d) => d.pow(2).div(2),
  k3,
  abs: (d) => d.abs(),
};

/** Log-probs that a KL is estimated from. */
export interface KlInput {
  logprobs_T: Tensor;
  referenceLogprobs_T: Tensor;
  /** Over the whole vocabulary, for the estimator `full`. */
  full_T: Tensor | null;
  rows: TokenRows;
}

/**
 * The KL to the reference: of each token, or of each completion's mean or summed log-probs, the same for all of its
 * tokens: `[T]`.
 */
export function klOf(
  { estimator, level, clip }: Pick<Config['kl'], 'estimator' | 'level' | 'clip'>,
  input: KlInput,
): Tensor {
  const { logprobs_T, referenceLogprobs_T, full_T, rows } = input;
  const atLevel = (values_T: Tensor) =>
    level === 'token'
      ? values_T
      : rows.spread(level === 'sequence_mean' ? rows.mean(values_T) : rows.sum(values_T));
  if (estimator === 'full') {
    if (!full_T) throw new TypeError('the full KL was not computed with the log-probs');
    return atLevel(full_T);
  }
  const d_T = atLevel(referenceLogprobs_T.sub(logprobs_T));
  return estimates[estimator](clip === undefined ? d_T : d_T.clamp(-clip, clip));
}
