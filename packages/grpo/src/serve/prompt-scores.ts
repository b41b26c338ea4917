import { noGrad, tidy } from '@grpo/torch';
import type { Decoder } from '../models/index.js';
import { scoreTokens } from '../objective/index.js';

/**
 * Log-probs of a prompt's own tokens under softmax(logits), by the code that scores completions in training; null for the
 * first token, which nothing predicts.
 */
export function scorePrompt(decoder: Decoder, prompt: readonly number[]): (number | null)[] {
  const rest = prompt.slice(1);
  if (rest.length === 0) return [null];
  const group = { prompt: prompt.slice(0, 1), completions: [rest] };
  return noGrad(() => tidy(() => [null, ...scoreTokens(decoder, [group], 1).logprobs_T.toNumbers()]));
}
