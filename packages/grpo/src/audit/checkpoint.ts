import { noGrad, tidy } from '@grpo/torch';
import { repeatBound } from '../doctor/tolerance.js';
import { carriedGroup } from '../step/trainer.js';
import type { AuditContext, Measured } from './context.js';
import { worstOf } from './worst.js';

/** Scores the completions that a checkpoint carries again, in the first step after it was loaded. */
export function auditCheckpoint({
  trainer: { restored, model, sampling, stages, config },
  tell: onLayer,
}: AuditContext): Measured {
  if (!restored) return { comparisons: [] };
  // Scored alone then and now; another number of threads may add up in another order.
  const bound = repeatBound({ declared: { dtype: config.dtype } });
  const pairs = restored.completions.flatMap(({ logprobs, ...completion }) => {
    const groups = [carriedGroup(completion)];
    const found = noGrad(() =>
      tidy(() =>
        stages.logprob(model.decoder, groups, sampling.temperature, { onLayer }).logprobs_T.toNumbers(),
      ),
    );
    return logprobs.map((plain, token) => ({ found: found[token]!, plain, bound, token }));
  });
  return {
    comparisons: worstOf('checkpoint', 'log-prob of a completion that the checkpoint carries', pairs),
  };
}
