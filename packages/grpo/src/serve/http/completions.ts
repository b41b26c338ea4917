import { z } from 'zod';
import { renderIds } from '../../text/render.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import { type AnswerForm, answerChoices, type ChoicePart } from './answer-choices.js';
import { ApiError } from './api-error.js';
import type { Handler, Service } from './call.js';
import {
  answerId,
  askedIn,
  choiceFields,
  endFields,
  idsOf,
  promptLogprobsOf,
  refuseScores,
  tokenName,
} from './choice-fields.js';
import { adapterOf } from './generate.js';
import { type AskedPrompt, newTokensFor, promptOfIds, refuseTooLong } from './prompt.js';
import { readBody, readFields } from './read-body.js';
import { MOST_CHOICES } from './sampling-fields.js';
import { refuseUnsupported } from './unsupported.js';

const ids = z.array(z.int()).min(1, 'the prompt is empty');

const schema = z.object({
  ...choiceFields,
  prompt: z.union(
    [
      z.string(),
      ids,
      z.array(z.string()).min(1, 'the prompt is empty'),
      z.array(ids).min(1, 'the prompt is empty'),
    ],
    'a text, a list of token ids, or a list of either is expected',
  ),
  max_tokens: z
    .int()
    .min(0)
    .nullish()
    .transform((value) => value ?? 16),
  logprobs: z
    .literal(0, 'only the log-prob of the drawn token is told, no others beside it: logprobs=0')
    .nullish()
    .transform((value) => value === 0),
  echo: z
    .boolean()
    .nullish()
    .transform((value) => value ?? false),
  add_special_tokens: z
    .boolean()
    .nullish()
    .transform((value) => value ?? true),
});

type Fields = z.output<typeof schema>;

/** `POST /v1/completions`: prompts as text or ids, to their completions. */
export const completions: Handler = async (service, call) => {
  const body = await readBody(call.request);
  refuseUnsupported(body);
  const asked = readFields(schema, body);
  const { model } = service.engine;
  const adapter = adapterOf(service, asked.model);
  const prompts = promptsOf(service, asked);
  if (prompts.length * asked.n > MOST_CHOICES)
    throw new ApiError(
      400,
      `${prompts.length} prompts × n=${asked.n} are too many completions for a request.`,
      {
        param: 'n',
      },
    );
  const scoresPrompts = asked.prompt_logprobs || (asked.echo && asked.logprobs);
  if (scoresPrompts) refuseScores(asked);
  if (asked.max_tokens === 0 && !asked.echo && !asked.prompt_logprobs)
    throw new ApiError(400, 'max_tokens: 0 is for echo or prompt_logprobs.', { param: 'max_tokens' });
  const maxNewTokens = newTokensFor(service.engine, prompts, asked.max_tokens);
  return answerChoices(service, call, {
    ...askedIn(asked, service, prompts, maxNewTokens),
    adapter,
    scoresPrompts,
    form: formOf(asked, model.tokenizer, answerId('cmpl', asked.request_id, call)),
  });
};

function promptsOf(service: Service, { prompt, add_special_tokens }: Fields): AskedPrompt[] {
  const { model } = service.engine;
  const { tokenizer } = model;
  const ofText = (text: string): AskedPrompt => {
    if (text === '') throw new ApiError(400, 'prompt: the prompt is empty', { param: 'prompt' });
    refuseTooLong(service, text, 'prompt');
    const ids = add_special_tokens ? renderIds(tokenizer, undefined, text).ids : tokenizer.encode(text);
    return { ids, text };
  };
  if (typeof prompt === 'string') return [ofText(prompt)];
  if (typeof prompt[0] === 'number') return [promptOfIds(model, prompt as number[])];
  return (prompt as (string | number[])[]).map((one) =>
    typeof one === 'string' ? ofText(one) : promptOfIds(model, one),
  );
}

function formOf(asked: Fields, tokenizer: Tokenizer, id: string): AnswerForm {
  const choice = (part: ChoicePart) => {
    const echoes = asked.echo && part.isFirst;
    const { ids: promptIds, text: promptText } = part.prompt;
    const offset = part.offset + (asked.echo && !part.isFirst ? promptText.length : 0);
    const before = echoes
      ? promptIds.map((one, t) => ({ id: one, logprob: part.promptLogprobs?.[t] ?? null }))
      : [];
    return {
      index: part.index,
      text: echoes ? promptText + part.text : part.text,
      logprobs: asked.logprobs
        ? logprobsOf([...before, ...part.tokens], offset, tokenizer, asked.return_tokens_as_token_ids)
        : null,
      ...endFields(part),
      ...idsOf(part.tokens, asked.return_token_ids),
      ...(asked.return_token_ids && part.isFirst && { prompt_token_ids: promptIds }),
      ...(asked.prompt_logprobs &&
        part.promptLogprobs && {
          prompt_logprobs: promptLogprobsOf(tokenizer, promptIds, part.promptLogprobs),
        }),
    };
  };
  return {
    id,
    object: 'text_completion',
    chunkObject: 'text_completion',
    choice,
    chunkChoice: choice,
    beside: () => ({}),
  };
}

/** Of a completion, as OpenAI's first API tells log-probs. */
function logprobsOf(
  tokens: readonly { id: number; logprob: number | null }[],
  offset: number,
  tokenizer: Tokenizer,
  byId: boolean,
): object {
  const names = tokens.map(({ id }) => tokenName(tokenizer, id, byId));
  let at = offset;
  return {
    text_offset: names.map((name) => {
      at += name.length;
      return at - name.length;
    }),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    tokens: names,
    top_logprobs: tokens.map(({ logprob }, t) => (logprob === null ? null : { [names[t]!]: logprob })),
  };
}
