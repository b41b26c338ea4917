import { UserError } from '../errors/user-error.js';
import type { SamplingOptions } from './completion.js';

/** A prompt and the number of its completions. */
export interface GroupRequest {
  /** The rendered prompt. */
  ids: readonly number[];
  count: number;
  /** Names the group's random streams, such as [step, prompt]: with the seed they fix every draw. */
  keys: readonly number[];
  /** Longest of each completion, in tokens, where they are not all `maxNewTokens`. */
  limits?: readonly number[];
  /** Temperature of each, where they are not all the options' own. */
  temperatures?: readonly number[];
}

/** A request for one completion, with all that its draws depend on. */
export interface CompletionRequest {
  group: number;
  index: number;
  prompt: readonly number[];
  keys: readonly number[];
  /** In tokens; at least 1. */
  limit: number;
  options: SamplingOptions;
  seed: number;
}

/**
 * Requests for all completions, those of a prompt side by side.
 *
 * @param maxPositions - the model's context
 * @throws UserError for an empty prompt, and for one that leaves no room in the context
 */
export function splitRequests(
  requests: readonly GroupRequest[],
  options: SamplingOptions,
  seed: number,
  maxPositions: number,
): CompletionRequest[] {
  return requests.flatMap(({ ids, count, keys, limits, temperatures }, group) => {
    if (ids.length === 0) {
      throw new UserError(`prompt ${group + 1} has no tokens: there is nothing to continue`, {
        hint: 'leave out empty prompts, or begin them with the BOS token',
      });
    }
    if (ids.length >= maxPositions) {
      throw new UserError(
        `prompt ${group + 1} has ${ids.length} tokens, the model's context holds ${maxPositions}: no room for a completion`,
        { hint: 'shorten or leave out the longest prompts' },
      );
    }
    const room = maxPositions - ids.length;
    return Array.from({ length: count }, (_, index) => {
      const limit = Math.min(limits?.[index] ?? options.maxNewTokens, room);
      const temperature = temperatures?.[index] ?? options.temperature;
      return { group, index, prompt: ids, keys, limit, options: { ...options, temperature }, seed };
    });
  });
}

/** @param token - the place in the completion that cannot be filled, from 1 */
export function failOnLogits({ group, index }: CompletionRequest, token: number): never {
  throw new UserError(
    `prompt ${group + 1}, completion ${index + 1}, token ${token}: the logits hold NaN or infinity, or every token is forbidden: no token can be drawn`,
    {
      hint: 'the weights have diverged or overflow their dtype; look at the losses and gradient norms of earlier steps',
    },
  );
}
