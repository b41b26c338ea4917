import { describe, expect, it } from 'vitest';
import { renderPrompt } from '../../text/render.js';
import { eventsIn, servedModel } from './served-model.test.helper.js';

const PATH = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'hi' }] as const;

describe('chat completions', () => {
  it('answer a conversation through the template of the model', async () => {
    const { post, model } = await servedModel();
    const { ids } = renderPrompt(model.tokenizer, model.template, [...messages]);
    const asked = { seed: 4, max_tokens: 10, return_token_ids: true };
    const { json } = await post(PATH, { messages, ...asked, logprobs: true });
    const plain = (await post('/v1/completions', { prompt: ids, ...asked, logprobs: 0 })).json;
    const [choice] = json.choices;
    expect(json.prompt_token_ids).toEqual(ids);
    expect(choice.token_ids).toEqual(plain.choices[0].token_ids);
    expect(choice.message).toEqual({ role: 'assistant', content: plain.choices[0].text, refusal: null });
    expect(choice.logprobs.content.map(({ logprob }: { logprob: number }) => logprob)).toEqual(
      plain.choices[0].logprobs.token_logprobs,
    );
    expect(choice.logprobs.content[0]).toMatchObject({
      bytes: [...model.tokenizer.bytesOf(choice.token_ids[0])],
      top_logprobs: [],
    });
    expect(json).toMatchObject({ object: 'chat.completion', usage: plain.usage });
  });

  it('take all the room that there is by default, and parts of text', async () => {
    const { post } = await servedModel();
    const content = [
      { type: 'text', text: 'h' },
      { type: 'text', text: 'i' },
    ];
    const { json } = await post(PATH, { messages: [{ role: 'user', content }], stop_token_ids: [], seed: 1 });
    const [{ finish_reason }] = json.choices;
    if (finish_reason === 'length') expect(json.usage.total_tokens).toBe(64);
    else expect(json.usage.total_tokens).toBeLessThan(64);
  });

  it('stream a role, then the text, then the usage', async () => {
    const { post } = await servedModel();
    const asked = { messages, n: 2, seed: 4, max_completion_tokens: 10 };
    const whole = (await post(PATH, asked)).json;
    const stream = await post(PATH, { ...asked, stream: true, stream_options: { include_usage: true } });
    const events = eventsIn(stream.text);
    expect(events.pop()).toMatchObject({ object: 'chat.completion.chunk', choices: [], usage: whole.usage });
    for (const { index, message, finish_reason } of whole.choices) {
      const own = events.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
      expect(own[0].delta).toEqual({ role: 'assistant', content: '' });
      expect(own.map(({ delta }) => delta.content).join('')).toBe(message.content);
      expect(own.at(-1).finish_reason).toBe(finish_reason);
    }
  });

  it.each<[object, string]>([
    [{}, 'messages'],
    [{ messages: [] }, 'messages'],
    [{ messages: [{ role: 'robot', content: 'a' }] }, 'messages'],
    [{ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] }, 'messages'],
    [{ messages, tools: [{ type: 'function', function: { name: 'f' } }] }, 'tools'],
    [{ messages, tool_choice: 'required' }, 'tool_choice'],
    [{ messages, response_format: { type: 'json_schema' } }, 'response_format'],
    [{ messages, logprobs: true, top_logprobs: 2 }, 'top_logprobs'],
    [{ messages, max_tokens: 0 }, 'max_tokens'],
    [{ messages, max_completion_tokens: 64 }, 'max_completion_tokens'],
    [{ messages, chat_template: 'x' }, 'chat_template'],
  ])('are refused for %j, by the name of the field', async (body, param) => {
    const { post } = await servedModel();
    const { status, json } = await post(PATH, body);
    expect([status, json.error.code]).toEqual([400, 400]);
    expect(json.error.param).toContain(param);
  });
});
