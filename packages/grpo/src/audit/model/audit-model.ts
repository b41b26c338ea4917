import { tidy } from '@grpo/torch';
import type { Trainer } from '../../step/trainer.js';
import type { AuditContext, Measured } from '../context.js';
import { compareCompletions } from './compare-completions.js';
import { compareGradients } from './compare-gradients.js';
import { compareLogProbs } from './compare-log-probs.js';
import { compareRotations } from './compare-rotations.js';
import { plainStep } from './plain-step.js';
import { runTrainer } from './trainer-pass.js';

/** Audits completions, log-probs and gradients, all by one plain pass. */
export function auditModel(context: AuditContext): Measured[] {
  const missing = lackOf(context.trainer, context.chosen);
  if (missing !== undefined) {
    const handOvers = ['completion', 'old log-probs', 'gradient'] as const;
    return handOvers.map((handOver) => ({ handOver, missing }));
  }
  return tidy(() => {
    const plain = plainStep(context);
    const completions = compareCompletions(context, plain);
    return runTrainer(context, (pass, gradients) => [
      { comparisons: compareRotations(context.trainer.model.decoder, plain) },
      completions,
      compareLogProbs(context, plain, pass),
      compareGradients(context, plain, pass, gradients),
      { comparisons: pass.misgiven },
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
  if (chosen.length === 0) return 'a completion';
  return auditLack;
}
