import { tidy } from '@grpo/torch';
import { MOST_CHOSEN } from '../../audit/chosen.js';
import type { AuditContext, Measured } from '../../audit/context.js';
import { auditEndings } from '../../audit/ending.js';
import { lackOf } from '../../audit/model/audit-model.js';
import { compareCompletions } from '../../audit/model/compare-completions.js';
import { plainStep } from '../../audit/model/plain-step.js';
import { auditPrompts } from '../../audit/prompt.js';
import { auditRewards } from '../../audit/rewards/reward.js';
import { auditTotals } from '../../audit/rewards/totals.js';
import { permutation } from '../../maths/random.js';

/** Holds the completions of a round of expert iteration, and what they earn, to the plain path. It changes nothing. */
export async function auditRollout(own: Omit<AuditContext, 'chosen'>): Promise<Measured[]> {
  const { batch, trainer, step } = own;
  const places = permutation(batch.completions_B.length, trainer.config.seed, step);
  const context = { ...own, chosen: places.slice(0, MOST_CHOSEN).sort((a, b) => a - b) };
  return [
    auditPrompts(context),
    completionsOf(context),
    auditEndings(context),
    auditTotals(context),
    await auditRewards(context),
  ];
}

function completionsOf(context: AuditContext): Measured {
  const missing = lackOf(context.trainer, context.chosen);
  if (missing !== undefined) return { handOver: 'completion', missing };
  return tidy(() => compareCompletions(context, plainStep(context)));
}
