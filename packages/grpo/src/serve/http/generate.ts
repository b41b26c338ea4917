import type { SamplingOptions } from '../../rollout/index.js';
import type { Generated, GeneratedToken } from '../generation.js';
import { ApiError, RETRY_AFTER } from './api-error.js';
import type { Service } from './call.js';
import type { AskedPrompt } from './prompt.js';
import type { Randomness } from './sampling-fields.js';

/** Completions that a request asks for. */
export interface Asked {
  prompts: readonly AskedPrompt[];
  /** Completions of each prompt. */
  count: number;
  options: SamplingOptions;
  randomness(): Randomness;
  adapter: string | undefined;
  /** Log-probs of the prompts' tokens are asked for. */
  scoresPrompts: boolean;
}

/**
 * Completes all prompts of a request. Where one fails, so does the request.
 *
 * @param onToken - with the index of the prompt, and of the completion among those of the prompt
 * @throws ApiError: too many wait already. What the engine throws
 */
export async function generate(
  { engine, mostWaiting }: Service,
  { prompts, count, options, randomness, adapter, scoresPrompts }: Asked,
  signal: AbortSignal,
  onToken?: (prompt: number, index: number, token: GeneratedToken) => void,
): Promise<Generated[]> {
  if (engine.load.waiting >= mostWaiting)
    throw new ApiError(429, `${engine.load.waiting} completions wait already: come again later.`, {
      headers: RETRY_AFTER,
    });
  const failure = new AbortController();
  const all = prompts.map(({ ids }, p) =>
    engine.generate({
      prompt: ids,
      count,
      options,
      ...randomness(),
      adapter,
      scorePrompt: scoresPrompts,
      signal: AbortSignal.any([signal, failure.signal]),
      onToken: onToken && ((index, token) => onToken(p, index, token)),
    }),
  );
  try {
    return await Promise.all(all);
  } catch (error) {
    failure.abort(error);
    await Promise.allSettled(all);
    throw error;
  }
}

/** The model or the adapter that a request names, as the engine's adapter. @throws ApiError: there is none of that name */
export function adapterOf({ engine, name }: Service, model: string | null | undefined): string | undefined {
  if (model === undefined || model === null || model === name) return undefined;
  if (engine.adapters.has(model)) return model;
  throw new ApiError(
    404,
    `The model \`${model}\` does not exist. There is ${[name, ...engine.adapters.keys()].join(', ')}.`,
    {
      param: 'model',
    },
  );
}

/** Log-prob of a token as vLLM's `processed_logprobs`: under the distribution that it was drawn from; under the model's own where the likeliest is taken. */
export const processedLogprob = (
  { logprob, sampledLogprob }: Pick<GeneratedToken, 'logprob' | 'sampledLogprob'>,
  { temperature }: Pick<SamplingOptions, 'temperature'>,
): number => (temperature === 0 ? logprob : sampledLogprob);
