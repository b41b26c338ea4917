import { z } from 'zod';
import type { Message } from '../../text/message.js';
import { renderIds } from '../../text/render.js';
import { ApiError } from './api-error.js';
import type { Handler } from './call.js';
import { adapterOf } from './generate.js';
import { message } from './message.js';
import { promptOfIds, refuseTooLong } from './prompt.js';
import { readBody, readFields } from './read-body.js';

const flag = (otherwise: boolean) =>
  z
    .boolean()
    .nullish()
    .transform((value) => value ?? otherwise);

const tokenizing = z.object({
  model: z.string().nullish(),
  prompt: z.string().optional(),
  messages: z.array(message).min(1, 'there is no message').optional(),
  add_special_tokens: flag(true),
  return_token_strs: flag(false),
});

/** `POST /tokenize`: the ids of a text, or of a conversation through the model's template, as completions read them. */
export const tokenize: Handler = async (service, { request }) => {
  const asked = readFields(tokenizing, await readBody(request));
  adapterOf(service, asked.model);
  const { engine } = service;
  const { tokenizer, template } = engine.model;
  const prompt = asked.prompt ?? (asked.messages as Message[] | undefined);
  if (prompt === undefined)
    throw new ApiError(400, 'prompt or messages are to be given.', { param: 'prompt' });
  for (const text of typeof prompt === 'string' ? [prompt] : prompt.map(({ content }) => content))
    refuseTooLong(service, text, 'prompt');
  const plain = typeof prompt === 'string' && (prompt === '' || !asked.add_special_tokens);
  const ids = plain ? tokenizer.encode(prompt) : renderIds(tokenizer, template, prompt).ids;
  return {
    count: ids.length,
    max_model_len: engine.maxModelLen,
    tokens: ids,
    token_strs: asked.return_token_strs ? ids.map((id) => tokenizer.decode([id])) : null,
  };
};

const detokenizing = z.object({ model: z.string().nullish(), tokens: z.array(z.int()) });

/** `POST /detokenize`: the text of ids. */
export const detokenize: Handler = async (service, { request }) => {
  const { model, tokens } = readFields(detokenizing, await readBody(request));
  adapterOf(service, model);
  return { prompt: promptOfIds(service.engine.model, tokens).text };
};
