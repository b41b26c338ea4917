import { tidy } from '@grpo/torch';
import { byteCount } from '../../errors/byte-count.js';
import type { Trainer } from '../../step/trainer.js';
import type { AuditContext, Measured } from '../context.js';
import { compareCompletions } from './compare-completions.js';
import { compareGradients } from './compare-gradients.js';
import { compareLogProbs } from './compare-log-probs.js';
import { plainStep } from './plain-step.js';
import { runTrainer } from './trainer-pass.js';

/** What the model has to do with: prompt → completion, weights → log-probs, loss → gradient, from one plain pass. */
export function auditModel(context: AuditContext): Measured[] {
  const missing = lackOf(context.trainer);
  if (missing !== undefined) {
    const handOvers = ['completion', 'old log-probs', 'gradient'] as const;
    return handOvers.map((handOver) => ({ handOver, missing }));
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

/** Copies of a matrix `[V, D]` in float32 that the plain pass holds at once: head, its gradient, and a chunk of either. */
const COPIES = 3;

/** What the plain pass lacks; undefined where it can be done. */
function lackOf({ model, activationRoom = Number.POSITIVE_INFINITY }: Trainer): string | undefined {
  // A model that was made in code has none.
  if (model.configJson.model_type === undefined) return "the model's config.json";
  const { vocabSize, hiddenSize } = model.decoder.config;
  const needed = 4 * COPIES * vocabSize * hiddenSize;
  return needed > activationRoom
    ? `${byteCount(needed)} of memory for a second computation (memory leaves ${byteCount(activationRoom)})`
    : undefined;
}
