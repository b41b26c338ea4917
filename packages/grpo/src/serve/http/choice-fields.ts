import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Tokenizer } from '../../text/tokenizer.js';
import type { AskedChoices, ChoicePart, ToldToken } from './answer-choices.js';
import { ApiError } from './api-error.js';
import type { Call, Service } from './call.js';
import type { AskedPrompt } from './prompt.js';
import { randomnessOf, samplingFields, samplingOptions } from './sampling-fields.js';

const flag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false);

const streamOptions = z
  .object({
    include_usage: z
      .boolean()
      .nullish()
      .transform((value) => value ?? true),
    continuous_usage_stats: flag,
  })
  .nullish();

/** Fields that both of OpenAI's calls have. */
export const choiceFields = {
  ...samplingFields,
  model: z.string().nullish(),
  stream: flag,
  stream_options: streamOptions,
  return_token_ids: flag,
  return_tokens_as_token_ids: flag,
  prompt_logprobs: z
    .literal(0, 'only the log-probs of the prompt itself are told, no others beside them: 0')
    .nullish()
    .transform((value) => value === 0),
  request_id: z.string().max(200).nullish(),
  vllm_xargs: z
    .object({
      random_keys: z.array(z.int()).max(8).optional(),
      invariant: z.union([z.boolean(), z.literal([0, 1]).transform((value) => value === 1)]).optional(),
    })
    .nullish(),
};

type ChoiceFields = z.output<z.ZodObject<typeof choiceFields>>;

/** What both of OpenAI's calls ask for in the same fields. @throws ApiError: there are options of a stream, but no stream */
export function askedIn(
  fields: ChoiceFields,
  { engine, name }: Service,
  prompts: readonly AskedPrompt[],
  maxNewTokens: number,
): Omit<AskedChoices, 'adapter' | 'scoresPrompts' | 'form'> {
  const { random_keys = [], invariant = false } = fields.vllm_xargs ?? {};
  const { endIds } = engine.model;
  return {
    prompts,
    count: fields.n,
    options: samplingOptions(fields, { maxNewTokens, invariant, endIds }),
    randomness: () => randomnessOf(fields.seed, random_keys),
    text: {
      stop: fields.stop,
      includesStop: fields.include_stop_str_in_output,
      skipsSpecial: fields.skip_special_tokens,
    },
    model: fields.model ?? name,
    stream: fields.stream,
    usage: usageWanted(fields),
  };
}

/** The name of an answer: as the client wants it to be, or one of its own. */
export const answerId = (prefix: string, asked: string | null | undefined, { request }: Call): string =>
  `${prefix}-${asked ?? request.headers['x-request-id'] ?? randomUUID().replaceAll('-', '')}`;

function usageWanted({ stream, stream_options }: ChoiceFields): AskedChoices['usage'] {
  if (stream_options && !stream)
    throw new ApiError(400, 'stream_options are for stream=true.', { param: 'stream_options' });
  const atEnd = stream_options?.include_usage === true;
  return { atEnd, continuous: atEnd && stream_options.continuous_usage_stats };
}

/** A token by its text, or by its id where texts would not tell tokens apart. */
export const tokenName = (tokenizer: Tokenizer, id: number, byId: boolean): string =>
  byId ? `token_id:${id}` : tokenizer.decode([id], { isInside: true });

/** Log-probs of a prompt's tokens by id, as vLLM nests them. */
export const promptLogprobsOf = (
  tokenizer: Tokenizer,
  ids: readonly number[],
  scores: readonly (number | null)[],
): (object | null)[] =>
  ids.map((id, t) => {
    const logprob = scores[t]!;
    return logprob === null
      ? null
      : { [id]: { logprob, rank: null, decoded_token: tokenizer.decode([id], { isInside: true }) } };
  });

/** The end of a choice, in every form of it. */
export const endFields = ({ end }: ChoicePart): object => ({
  finish_reason: end?.finishReason ?? null,
  stop_reason: end?.stopReason ?? null,
  ...(end?.weights !== undefined && { weights_checksum: end.weights }),
});

/** Ids of tokens, where they are asked for. */
export const idsOf = (tokens: readonly ToldToken[], asked: boolean): object =>
  asked ? { token_ids: tokens.map(({ id }) => id) } : {};

/** @throws ApiError: scores of the prompt are asked for in a way in which they are not to be had */
export function refuseScores({ stream, temperature }: { stream: boolean; temperature: number }): void {
  if (stream)
    throw new ApiError(400, 'Log-probs of the prompt are not told in a stream.', { param: 'stream' });
  if (temperature !== 0 && temperature !== 1)
    throw new ApiError(400, 'Log-probs of the prompt are those at temperature 1: ask with temperature=1.', {
      param: 'temperature',
    });
}
