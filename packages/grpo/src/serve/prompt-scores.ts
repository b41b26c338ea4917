import { noGrad, tidy } from '@grpo/torch';
import type { Decoder } from '../models/index.js';
import { scoreTokens } from '../objective/index.js';

/**
 * Log-probs of a prompt's own tokens under softmax(logits / temperature), as training scores completions; null for the
 * first token, which nothing predicts.
 *
 * @param temperature - 0 scores at 1
 */
export function scorePrompt(
  decoder: Decoder,
  prompt: readonly number[],
  temperature: number,
): (number | null)[] {
  const rest = prompt.slice(1);
  if (rest.length === 0) return [null];
  const group = { prompt: prompt.slice(0, 1), completions: [rest] };
  return noGrad(() =>
    tidy(() => [null, ...scoreTokens(decoder, [group], temperature).logprobs_T.toNumbers()]),
  );
}
