import { tidy } from '@grpo/torch';
import type { AuditContext, Measured } from '../context.js';
import { compareCompletions } from './compare-completions.js';
import { compareGradients } from './compare-gradients.js';
import { compareLogProbs } from './compare-log-probs.js';
import { plainStep } from './plain-step.js';
import { runTrainer } from './trainer-pass.js';

/** What the model has to do with: prompt → completion, weights → log-probs, loss → gradient, from one plain pass. */
export function auditModel(context: AuditContext): Measured[] {
  // A model that was made in code has none.
  if (context.trainer.model.configJson.model_type === undefined) {
    const handOvers = ['completion', 'old log-probs', 'gradient'] as const;
    return handOvers.map((handOver) => ({ handOver, missing: "the model's config.json" }));
  }
  return tidy(() => {
    const plain = plainStep(context);
    const completions = compareCompletions(context, plain);
    return runTrainer(context, (pass, gradients) => [
      completions,
      compareLogProbs(context, plain, pass),
      compareGradients(context, plain, pass, gradients),
    ]);
  });
}
