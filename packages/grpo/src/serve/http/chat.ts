import { z } from 'zod';
import type { Message } from '../../text/message.js';
import { renderIds } from '../../text/render.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import { type AnswerForm, answerChoices, type ChoicePart, type ToldToken } from './answer-choices.js';
import type { Handler } from './call.js';
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
import { message } from './message.js';
import { newTokensFor, refuseTooLong } from './prompt.js';
import { readBody, readFields } from './read-body.js';
import { refuseUnsupported } from './unsupported.js';

const tokens = z.int().min(1).nullish();

const schema = z.object({
  ...choiceFields,
  messages: z.array(message).min(1, 'there is no message'),
  max_tokens: tokens,
  max_completion_tokens: tokens,
  logprobs: z
    .boolean()
    .nullish()
    .transform((value) => value ?? false),
  echo: z.literal(false, 'a conversation is not repeated').nullish(),
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
});

type Fields = z.output<typeof schema>;

/** `POST /v1/chat/completions`: a conversation through the model's own template, to its answers. */
export const chat: Handler = async (service, call) => {
  const body = await readBody(call.request);
  refuseUnsupported(body);
  const asked = readFields(schema, body);
  const { model } = service.engine;
  const adapter = adapterOf(service, asked.model);
  for (const { content } of asked.messages) refuseTooLong(service, content, 'messages');
  const rendered = renderIds(model.tokenizer, model.template, asked.messages as Message[], {
    ...(asked.chat_template_kwargs && { variables: asked.chat_template_kwargs }),
  });
  if (asked.prompt_logprobs) refuseScores(asked);
  const param = asked.max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens';
  const maxNewTokens = newTokensFor(service.engine, [rendered], asked[param] ?? undefined, param);
  return answerChoices(service, call, {
    ...askedIn(asked, service, [rendered], maxNewTokens),
    adapter,
    scoresPrompts: asked.prompt_logprobs,
    form: formOf(asked, model.tokenizer, rendered.ids, answerId('chatcmpl', asked.request_id, call)),
  });
};

function formOf(asked: Fields, tokenizer: Tokenizer, promptIds: readonly number[], id: string): AnswerForm {
  const about = (choice: ChoicePart, said: object) => ({
    index: choice.index,
    ...said,
    logprobs: asked.logprobs
      ? { content: logprobsOf(choice.tokens, tokenizer, asked.return_tokens_as_token_ids) }
      : null,
    ...endFields(choice),
    ...idsOf(choice.tokens, asked.return_token_ids),
  });
  return {
    id,
    object: 'chat.completion',
    chunkObject: 'chat.completion.chunk',
    choice: (choice) =>
      about(choice, { message: { role: 'assistant', content: choice.text, refusal: null } }),
    chunkChoice: (choice) => about(choice, { delta: { content: choice.text } }),
    beside: ([first]) => ({
      ...(asked.return_token_ids && { prompt_token_ids: promptIds }),
      ...(first?.promptLogprobs && {
        prompt_logprobs: promptLogprobsOf(tokenizer, promptIds, first.promptLogprobs),
      }),
    }),
    opening: (index) => ({
      index,
      delta: { role: 'assistant', content: '' },
      logprobs: null,
      finish_reason: null,
    }),
  };
}

const logprobsOf = (tokens: readonly ToldToken[], tokenizer: Tokenizer, byId: boolean): object[] =>
  tokens.map(({ id, logprob }) => ({
    token: tokenName(tokenizer, id, byId),
    logprob,
    bytes: [...tokenizer.bytesOf(id)],
    top_logprobs: [],
  }));
