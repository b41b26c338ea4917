import { randomInt } from 'node:crypto';
import { z } from 'zod';
import type { Model } from '../../models/index.js';
import { plainSampling, type SamplingOptions } from '../../rollout/index.js';
import { ApiError } from './api-error.js';

/** Completions of one request: vLLM's limit of `n`. */
export const MOST_CHOICES = 16_384;

const texts = z
  .union([z.string(), z.array(z.string()).max(64)])
  .nullish()
  .transform((stop) => (typeof stop === 'string' ? [stop] : (stop ?? [])))
  .pipe(z.array(z.string().min(1, 'a stop string is empty').max(1024)));

const flag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false);

/** Fields of vLLM's requests that say how tokens are drawn, with vLLM's defaults. */
export const samplingFields = {
  n: z
    .int()
    .min(1)
    .max(MOST_CHOICES)
    .nullish()
    .transform((value) => value ?? 1),
  temperature: z
    .number()
    .min(0)
    .nullish()
    .transform((value) => value ?? 1),
  top_p: z
    .number()
    .gt(0)
    .max(1)
    .nullish()
    .transform((value) => value ?? 1),
  top_k: z
    .int()
    .min(-1)
    .nullish()
    .transform((value) => Math.max(0, value ?? 0)),
  min_p: z
    .number()
    .min(0)
    .max(1)
    .nullish()
    .transform((value) => value ?? 0),
  repetition_penalty: z
    .number()
    .gt(0)
    .nullish()
    .transform((value) => value ?? 1),
  presence_penalty: z
    .number()
    .min(-2)
    .max(2)
    .nullish()
    .transform((value) => value ?? 0),
  frequency_penalty: z
    .number()
    .min(-2)
    .max(2)
    .nullish()
    .transform((value) => value ?? 0),
  min_tokens: z
    .int()
    .min(0)
    .nullish()
    .transform((value) => value ?? 0),
  stop: texts,
  stop_token_ids: z.array(z.int()).nullish(),
  include_stop_str_in_output: flag,
  skip_special_tokens: z
    .boolean()
    .nullish()
    .transform((value) => value ?? true),
  seed: z.int().nullish(),
};

const fields = z.object(samplingFields);

/** A request's randomness: the same seed and keys draw the same tokens. */
export interface Randomness {
  seed: number;
  keys: readonly number[];
}

/** Every request without a seed draws otherwise. */
export const randomnessOf = (seed: number | null | undefined, keys: readonly number[]): Randomness => ({
  seed: seed ?? randomInt(2 ** 47),
  keys,
});

/**
 * How the engine samples for a request.
 *
 * @param maxNewTokens - longest completion
 * @throws ApiError
 */
export function samplingOptions(
  asked: z.output<typeof fields>,
  {
    maxNewTokens,
    invariant,
    endIds,
    keepSupport = false,
  }: { maxNewTokens: number; invariant: boolean; keepSupport?: boolean } & Pick<Model, 'endIds'>,
): SamplingOptions {
  const other = asked.stop_token_ids?.find((id) => !endIds.has(id));
  if (other !== undefined)
    throw new ApiError(
      400,
      `stop_token_ids: token ${other} does not end completions of this model, ${[...endIds].join(' and ')} do. A text can: stop.`,
      { param: 'stop_token_ids' },
    );
  if (asked.min_tokens > maxNewTokens)
    throw new ApiError(400, `min_tokens: ${asked.min_tokens} is more than max_tokens, ${maxNewTokens}.`, {
      param: 'min_tokens',
    });
  return {
    ...plainSampling,
    maxNewTokens,
    minNewTokens: asked.min_tokens,
    temperature: asked.temperature,
    topP: asked.top_p,
    topK: asked.top_k,
    minP: asked.min_p,
    keepSupport,
    repetitionPenalty: asked.repetition_penalty,
    presencePenalty: asked.presence_penalty,
    frequencyPenalty: asked.frequency_penalty,
    stop: asked.stop,
    invariant,
  };
}
