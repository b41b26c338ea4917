import { tidy } from '@grpo/torch';
import type { Trainer } from '../../step/trainer.js';
import { LONGEST, shortOf } from '../chosen.js';
import type { AuditContext, Measured } from '../context.js';
import { compareCompletions } from './compare-completions.js';
import { compareGradients } from './compare-gradients.js';
import { compareLogProbs } from './compare-log-probs.js';
import { plainStep } from './plain-step.js';
import { runTrainer } from './trainer-pass.js';

/** Audits completions, log-probs and gradients, all by one plain pass. */
export function auditModel(context: AuditContext): Measured[] {
  const chosen = shortOf(context.batch, context.chosen);
  const missing = lackOf(context.trainer, chosen);
  if (missing !== undefined) {
    const handOvers = ['completion', 'old log-probs', 'gradient'] as const;
    return handOvers.map((handOver) => ({ handOver, missing }));
  }
  return tidy(() => {
    const own = { ...context, chosen };
    const plain = plainStep(own);
    const completions = compareCompletions(own, plain);
    return runTrainer(own, (pass, gradients) => [
      completions,
      compareLogProbs(own, plain, pass),
      compareGradients(own, plain, pass, gradients),
    ]);
  });
}

/** What the plain pass lacks; undefined where it can be done. */
export function lackOf(
  { model, auditLack }: Pick<Trainer, 'model' | 'auditLack'>,
  chosen: readonly number[],
): string | undefined {
  // A model that was made in code has none.
  if (model.configJson.model_type === undefined) return "the model's config.json";
  if (chosen.length === 0) return `a completion of at most ${LONGEST} tokens with its prompt`;
  return auditLack;
}
