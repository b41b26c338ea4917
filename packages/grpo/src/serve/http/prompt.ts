import type { Model } from '../../models/index.js';
import type { ServeEngine } from '../engine.js';
import { ApiError } from './api-error.js';
import type { Service } from './call.js';

/** A prompt that completions are asked of. */
export interface AskedPrompt {
  ids: readonly number[];
  text: string;
}

/**
 * A prompt that came as token ids.
 *
 * @throws ApiError: it is empty, or the model has no such token
 */
export function promptOfIds({ tokenizer, decoder }: Model, ids: readonly number[]): AskedPrompt {
  const { vocabSize } = decoder.config;
  const wrong = ids.findIndex((id) => id < 0 || id >= vocabSize);
  if (wrong >= 0)
    throw new ApiError(
      400,
      `prompt: id ${ids[wrong]} at place ${wrong} is no token of this model, which has ${vocabSize}.`,
      { param: 'prompt' },
    );
  return { ids, text: tokenizer.decode(ids) };
}

/** Characters that a tokenizer composes take so many times as many bytes before. */
const COMPOSED = 4;

/**
 * Refuses a text that has no room in the model's context however it is split, before time is spent on that.
 *
 * @throws ApiError
 */
export function refuseTooLong(
  { engine, longestToken }: Pick<Service, 'engine' | 'longestToken'>,
  text: string,
  param: string,
): void {
  if (Buffer.byteLength(text) > COMPOSED * longestToken * engine.maxModelLen)
    throw new ApiError(
      400,
      `This model's maximum context length is ${engine.maxModelLen} tokens. The text has more, at ${text.length} characters.`,
      { param },
    );
}

/**
 * Longest completion that a request may get.
 *
 * @param asked - undefined for as much as there is room for
 * @throws ApiError: prompt and completion are longer than the model's context
 */
export function newTokensFor(
  { maxModelLen }: ServeEngine,
  prompts: readonly AskedPrompt[],
  asked: number | undefined,
  param = 'max_tokens',
): number {
  const longest = Math.max(...prompts.map(({ ids }) => ids.length));
  const room = maxModelLen - longest;
  if (room < (asked ?? 1)) {
    const wanted = asked === undefined ? '' : ` and ${param} asks for ${asked} more`;
    throw new ApiError(
      400,
      `This model's maximum context length is ${maxModelLen} tokens. The prompt has ${longest}${wanted}.`,
      { param: asked === undefined ? 'prompt' : param },
    );
  }
  return asked ?? room;
}
