import { noGrad, tensor, tidy } from '@grpo/torch';
import { klOf, Rows } from '../objective/index.js';
import type { Sampled } from './batch.js';
import type { FrozenLogprobs } from './frozen-logprobs.js';
import { join } from './token-values.js';
import type { Trainer } from './trainer.js';

/**
 * β × KL of each completion to the reference, for `kl.place=reward`: the sum over its tokens, or the one value of its
 * summed or mean log-probs. The log-probs are those of the policy that sampled. undefined where the KL has another place.
 *
 * @param betas_P - β of each prompt
 */
export function klPenalties(
  { config: { kl } }: Pick<Trainer, 'config'>,
  { trained, completions_B }: Pick<Sampled, 'trained' | 'completions_B'>,
  { old_B, reference_B }: FrozenLogprobs,
  betas_P: readonly number[],
): Float64Array | undefined {
  if (kl.place !== 'reward' || !reference_B) return undefined;
  const policy_B = old_B ?? completions_B.map(({ logprobs }) => logprobs);
  const group = completions_B.length / betas_P.length;
  const lengths = trained.completions_B.map(({ ids }) => ids.length);
  const kls_B = noGrad(() =>
    tidy(() => {
      const [logprobs_T, referenceLogprobs_T] = [tensor(join(policy_B)), tensor(join(reference_B))];
      const rows = new Rows(lengths, null, logprobs_T);
      const kl_T = klOf(kl, { logprobs_T, referenceLogprobs_T, full_T: null, rows });
      return (kl.level === 'token' ? rows.sum(kl_T) : rows.mean(kl_T)).toNumbers();
    }),
  );
  return Float64Array.from(kls_B, (value, b) => betas_P[Math.floor(b / group)]! * value);
}
