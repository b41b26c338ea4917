import { tidy } from '@grpo/torch';
import type { AuditContext, Measured } from '../context.js';
import { compareCompletions } from './compare-completions.js';
import { compareGradients } from './compare-gradients.js';
import { compareLogProbs } from './compare-log-probs.js';
import { plainStep } from './plain-step.js';
import { runTrainer } from './trainer-pass.js';

/** What the model has to do with: prompt → completion, weights → log-probs, loss → gradient, from one plain pass. */
export const auditModel = (context: AuditContext): Measured[] =>
  tidy(() => {
    const plain = plainStep(context);
    const completions = compareCompletions(context, plain);
    return runTrainer(context, (pass, gradients) => [
      completions,
      compareLogProbs(context, plain, pass),
      compareGradients(context, plain, pass, gradients),
    ]);
  });
