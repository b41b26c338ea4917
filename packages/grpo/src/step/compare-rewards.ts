import { noGrad, tensor, tidy } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import { joinRows } from '../maths/lists.js';
import { type AdvantageSettings, klOf, TokenRows } from '../objective/index.js';
import type { Batch } from './batch.js';
import type { Trainer } from './trainer.js';

/** Compares the rewards of each group, the KL taken from them where it has its place there. */
export function compareRewards({ stages, config }: Trainer, batch: Batch): void {
  if (config.kl.place === 'reward') batch.klPenalties_B = klPenalties(config.kl, batch);
  batch.advantages = stages.advantage(batch.compared, batch.groupSize, advantageSettings(config));
}

/** Settings of the comparison. */
export const advantageSettings = ({ advantage, objective }: Config): AdvantageSettings => ({
  ...advantage,
  compat: objective.compat,
});

/**
 * β × KL of each completion to the reference: the sum over its tokens, or the one value of its summed or mean log-probs.
 * The log-probs are those of the policy that sampled. undefined without a reference.
 */
function klPenalties(kl: Config['kl'], batch: Batch): Float64Array | undefined {
  const { old_B, reference_B, trained, betas_P } = batch;
  if (!reference_B) return undefined;
  const policy_B = old_B ?? batch.behaviorLogprobs_B;
  const lengths = trained.completions_B.map(({ ids }) => ids.length);
  const kls_B = noGrad(() =>
    tidy(() => {
      const [logprobs_T, referenceLogprobs_T] = [
        tensor(joinRows(Float32Array, policy_B)),
        tensor(joinRows(Float32Array, reference_B)),
      ];
      const rows = new TokenRows(lengths, null, logprobs_T);
      const kl_T = klOf(kl, { logprobs_T, referenceLogprobs_T, full_T: null, rows });
      return (kl.level === 'token' ? rows.sum(kl_T) : rows.mean(kl_T)).toNumbers();
    }),
  );
  return Float64Array.from(kls_B, (value, b) => betas_P[batch.problemOf(b)]! * value);
}
