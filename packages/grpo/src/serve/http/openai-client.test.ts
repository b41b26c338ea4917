import OpenAI, {
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  RateLimitError,
} from 'openai';
import { describe, expect, it, vi } from 'vitest';
import { servedModel } from './served-model.test.helper.js';

async function opened(options: Parameters<typeof servedModel>[0] = {}) {
  const served = await servedModel(options);
  return { ...served, client: new OpenAI({ baseURL: `${served.url}/v1`, apiKey: 'secret', maxRetries: 0 }) };
}

const messages = [{ role: 'user', content: 'hi' }] as const;

describe('the client of OpenAI', () => {
  it('completes, chats and lists the models', async () => {
    const { client } = await opened({ apiKey: 'secret' });
    const completed = await client.completions.create({ model: 'tiny', prompt: 'a', max_tokens: 5, seed: 1 });
    expect(completed.choices[0]!.text).toBeTypeOf('string');
    expect(completed.usage!.total_tokens).toBe(1 + completed.usage!.completion_tokens);
    const answered = await client.chat.completions.create({
      model: 'tiny',
      messages: [...messages],
      max_completion_tokens: 5,
      logprobs: true,
    });
    expect(answered.choices[0]!.message.role).toBe('assistant');
    expect(answered.choices[0]!.logprobs!.content).toHaveLength(answered.usage!.completion_tokens);
    const names: string[] = [];
    for await (const model of client.models.list()) names.push(model.id);
    expect(names).toEqual(['tiny']);
    expect((await client.models.retrieve('tiny')).owned_by).toBe('grpo');
  });

  it('reads streams of both kinds', async () => {
    const { client } = await opened();
    const asked = { model: 'tiny', max_tokens: 12, seed: 3 };
    const chat = { ...asked, messages: [...messages] };
    const whole = await client.chat.completions.create(chat);
    const stream = await client.chat.completions.create({
      ...chat,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let total: number | undefined;
    for await (const { choices, usage } of stream) {
      text += choices[0]?.delta.content ?? '';
      total = usage?.total_tokens ?? total;
    }
    expect([text, total]).toEqual([whole.choices[0]!.message.content, whole.usage!.total_tokens]);
    const final = await client.chat.completions.stream(chat).finalChatCompletion();
    expect(final.choices[0]!.message.content).toBe(text);
    let plain = '';
    for await (const { choices } of await client.completions.create({ ...asked, prompt: 'a', stream: true }))
      plain += choices[0]!.text;
    expect(plain).toBe((await client.completions.create({ ...asked, prompt: 'a' })).choices[0]!.text);
  });

  it('gets its own classes of errors', async () => {
    const { client, post } = await opened({ apiKey: 'secret', mostWaiting: 1 });
    const ask = (change: object) => client.completions.create({ model: 'tiny', prompt: 'a', ...change });
    await expect(ask({ model: 'gpt-9' })).rejects.toBeInstanceOf(NotFoundError);
    await expect(ask({ logit_bias: { 5: 1 } })).rejects.toBeInstanceOf(BadRequestError);
    await expect(ask({ best_of: 4 })).rejects.toMatchObject({ param: 'best_of', status: 400 });
    const stranger = client.withOptions({ apiKey: 'other' });
    await expect(stranger.models.list()).rejects.toBeInstanceOf(AuthenticationError);
    const authorization = { headers: { authorization: 'Bearer secret' } };
    await post('/pause', {}, authorization);
    const all = Array.from({ length: 8 }, () => ask({}));
    await expect(Promise.race(all)).rejects.toBeInstanceOf(RateLimitError);
    await post('/resume', {}, authorization);
    await Promise.allSettled(all);
  });

  it('hangs up', async () => {
    const { client, engine } = await opened();
    let signal: AbortSignal | undefined;
    vi.spyOn(engine, 'generate').mockImplementation((request) => {
      ({ signal } = request);
      return new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason)));
    });
    const abort = new AbortController();
    const asked = client.chat.completions.create(
      { model: 'tiny', messages: [...messages], stream: true },
      { signal: abort.signal },
    );
    await vi.waitUntil(() => signal);
    abort.abort();
    await expect(asked).rejects.toBeInstanceOf(APIUserAbortError);
    await vi.waitUntil(() => signal!.aborted);
  });
});
