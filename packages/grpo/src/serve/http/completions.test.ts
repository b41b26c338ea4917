import { describe, expect, it } from 'vitest';
import { plainSampling, sample } from '../../rollout/index.js';
import { eventsIn, servedModel } from './served-model.test.helper.js';

const PATH = '/v1/completions';

describe('completions', () => {
  it('are the tokens and log-probs of the sampler, bit for bit', async () => {
    const { post, model } = await servedModel();
    const prompt = model.tokenizer.encode('1+2=');
    const { status, json } = await post(PATH, {
      model: 'tiny',
      prompt,
      n: 3,
      max_tokens: 9,
      temperature: 0.7,
      seed: 5,
      logprobs: 0,
      return_token_ids: true,
      vllm_xargs: { random_keys: [4, 2], invariant: 1, other: 'x' },
      some_new_field: { a: 1 },
    });
    expect(status).toBe(200);
    const options = { ...plainSampling, maxNewTokens: 9, temperature: 0.7, invariant: true };
    const [group] = await sample(model, [{ ids: prompt, count: 3, keys: [4, 2] }], options, 5);
    expect(json.choices.map((choice: { token_ids: number[] }) => choice.token_ids)).toEqual(
      group!.map(({ ids }) => ids),
    );
    for (const [i, choice] of json.choices.entries()) {
      const { logprobs, finish_reason, index, prompt_token_ids, weights_checksum } = choice;
      expect(Float32Array.from(logprobs.token_logprobs)).toEqual(group![i]!.sampledLogprobs);
      expect([...group![i]!.sampledLogprobs]).toEqual(logprobs.token_logprobs);
      expect({ finish_reason, index, prompt_token_ids }).toEqual({
        finish_reason: group![i]!.finishReason,
        index: i,
        prompt_token_ids: prompt,
      });
      expect(weights_checksum).toBe(group![i]!.weights);
    }
    const drawn = group!.reduce((sum, { ids }) => sum + ids.length, 0);
    expect(json).toMatchObject({
      object: 'text_completion',
      model: 'tiny',
      weight_version: 'default',
      usage: { prompt_tokens: 4, completion_tokens: drawn, total_tokens: 4 + drawn },
    });
  });

  it('come prompt after prompt, of texts as of ids', async () => {
    const { post, model } = await servedModel();
    const ask = (prompt: unknown) =>
      post(PATH, { prompt, n: 2, max_tokens: 4, seed: 1, return_token_ids: true });
    const texts = await ask(['ab', 'c']);
    const ids = await ask([model.tokenizer.encode('ab'), model.tokenizer.encode('c')]);
    const [first, second, third] = texts.json.choices;
    expect([first.prompt_token_ids, second.prompt_token_ids, third.prompt_token_ids]).toEqual([
      model.tokenizer.encode('ab'),
      model.tokenizer.encode('ab'),
      model.tokenizer.encode('c'),
    ]);
    expect(ids.json.choices).toEqual(texts.json.choices);
    expect(first.token_ids).not.toEqual(second.token_ids);
    expect((await ask('c')).json.choices[0].token_ids).toEqual(third.token_ids);
  });

  it('without a seed are drawn otherwise each time', async () => {
    const { post } = await servedModel();
    const ask = async () => (await post(PATH, { prompt: 'a', max_tokens: 12, return_token_ids: true })).json;
    const [one, two] = [await ask(), await ask()];
    expect(one.choices[0].token_ids).not.toEqual(two.choices[0].token_ids);
    expect(one.id).not.toBe(two.id);
  });

  it('tell the log-probs of the model where the likeliest token is taken, 16 tokens by default', async () => {
    const { post, model } = await servedModel();
    const { json } = await post(PATH, { prompt: 'a', temperature: 0, logprobs: 0 });
    const { token_logprobs, tokens, text_offset, top_logprobs } = json.choices[0].logprobs;
    expect(token_logprobs.length).toBe(json.usage.completion_tokens);
    expect(json.usage.completion_tokens).toBeLessThanOrEqual(16);
    const options = { ...plainSampling, maxNewTokens: 16, temperature: 0 };
    const ids = model.tokenizer.encode('a');
    const [group] = await sample(model, [{ ids, count: 1, keys: [] }], options, 0);
    const greedy = group![0]!;
    expect(token_logprobs).toEqual([...greedy.logprobs]);
    expect(tokens[0]).toBe(model.tokenizer.decode([greedy.ids[0]!]));
    expect(top_logprobs[0]).toEqual({ [tokens[0]]: token_logprobs[0] });
    expect(text_offset.slice(0, 2)).toEqual([0, tokens[0].length]);
  });

  it('repeat the prompt with its log-probs, and score it without drawing a token', async () => {
    const { post, model } = await servedModel();
    const ids = model.tokenizer.encode('1+2=3');
    const { json } = await post(PATH, { prompt: ids, max_tokens: 0, echo: true, logprobs: 0 });
    const [choice] = json.choices;
    expect(choice.text).toBe('1+2=3');
    expect(choice.logprobs.tokens).toEqual(['1', '+', '2', '=', '3']);
    expect(choice.logprobs.token_logprobs[0]).toBeNull();
    expect(json.usage).toEqual({ prompt_tokens: 5, completion_tokens: 0, total_tokens: 5 });
    const scored = await post(PATH, { prompt: ids, max_tokens: 1, prompt_logprobs: 0 });
    const byId = scored.json.choices[0].prompt_logprobs;
    expect(
      byId.map(
        (one: Record<string, { logprob: number }> | null, t: number) => one?.[ids[t]!]?.logprob ?? null,
      ),
    ).toEqual(choice.logprobs.token_logprobs);
  });

  it('end at a stop string, which is cut from the text and stays in the ids', async () => {
    const { post, model } = await servedModel();
    const asked = {
      prompt: 'a',
      max_tokens: 40,
      seed: 3,
      return_token_ids: true,
      skip_special_tokens: false,
    };
    const whole = (await post(PATH, asked)).json.choices[0];
    const stop = model.tokenizer.decode(whole.token_ids.slice(3, 5));
    expect(whole.text.indexOf(stop)).toBeGreaterThan(0);
    const { text, token_ids, finish_reason, stop_reason } = (await post(PATH, { ...asked, stop })).json
      .choices[0];
    expect({ finish_reason, stop_reason }).toEqual({ finish_reason: 'stop', stop_reason: stop });
    expect(token_ids).toEqual(whole.token_ids.slice(0, token_ids.length));
    expect(model.tokenizer.decode(token_ids)).toBe(text + stop);
    const included = await post(PATH, { ...asked, stop: [stop], include_stop_str_in_output: true });
    expect(included.json.choices[0].text).toBe(text + stop);
  });

  it('are the same as a stream, in whole characters, with ids and usage', async () => {
    const { post } = await servedModel();
    const asked = { prompt: ['ab', 'c'], n: 2, max_tokens: 20, seed: 9, logprobs: 0, return_token_ids: true };
    const whole = (await post(PATH, asked)).json;
    const { text, headers } = await post(PATH, {
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
    const events = eventsIn(text);
    const last = events.pop();
    expect(last).toMatchObject({ choices: [], usage: whole.usage, weight_version: 'default' });
    expect(new Set(events.map(({ id }) => id)).size).toBe(1);
    const parts = events.flatMap(({ choices }) => choices);
    for (const choice of whole.choices) {
      const own = parts.filter(({ index }) => index === choice.index);
      const all = (name: string) => own.flatMap((part) => part[name]);
      expect(all('text').join('')).toBe(choice.text);
      expect(all('token_ids')).toEqual(choice.token_ids);
      for (const list of ['token_logprobs', 'tokens'])
        expect(own.flatMap((part) => part.logprobs[list])).toEqual(choice.logprobs[list]);
      expect(own[0].prompt_token_ids).toEqual(choice.prompt_token_ids);
      expect(own.slice(0, -1).every((part) => part.finish_reason === null)).toBe(true);
      expect(own.at(-1)).toMatchObject({
        finish_reason: choice.finish_reason,
        weights_checksum: choice.weights_checksum,
      });
    }
  });

  it.each<[object, string]>([
    [{ prompt: 12 }, 'prompt'],
    [{}, 'prompt'],
    [{ prompt: '' }, 'prompt'],
    [{ prompt: [] }, 'prompt'],
    [{ prompt: [[1], []] }, 'prompt'],
    [{ prompt: [1, 2.5] }, 'prompt'],
    [{ prompt: [-1] }, 'prompt'],
    [{ prompt: [5, 99_999] }, 'prompt'],
    [{ prompt: 'a'.repeat(64) }, 'max_tokens'],
    [{ prompt: 'a', max_tokens: 64 }, 'max_tokens'],
    [{ prompt: 'a'.repeat(1e6) }, 'prompt'],
    [{ prompt: 'a', max_tokens: 0 }, 'max_tokens'],
    [{ prompt: 'a', max_tokens: -1 }, 'max_tokens'],
    [{ prompt: 'a', n: 0 }, 'n'],
    [{ prompt: 'a', n: 1e9 }, 'n'],
    [{ prompt: ['a', 'b'], n: 16_000 }, 'n'],
    [{ prompt: 'a', temperature: 'hot' }, 'temperature'],
    [{ prompt: 'a', temperature: -1 }, 'temperature'],
    [{ prompt: 'a', top_p: 0 }, 'top_p'],
    [{ prompt: 'a', top_k: -2 }, 'top_k'],
    [{ prompt: 'a', seed: 1.5 }, 'seed'],
    [{ prompt: 'a', seed: 2 ** 60 }, 'seed'],
    [{ prompt: 'a', stop: '' }, 'stop'],
    [{ prompt: 'a', stop: [1] }, 'stop'],
    [{ prompt: 'a', stop_token_ids: [70] }, 'stop_token_ids'],
    [{ prompt: 'a', min_tokens: 17 }, 'min_tokens'],
    [{ prompt: 'a', logprobs: 3 }, 'logprobs'],
    [{ prompt: 'a', prompt_logprobs: 1 }, 'prompt_logprobs'],
    [{ prompt: 'a', prompt_logprobs: 0, stream: true }, 'stream'],
    [{ prompt: 'a', stream_options: {} }, 'stream_options'],
    [{ prompt: 'a', vllm_xargs: { random_keys: ['x'] } }, 'vllm_xargs'],
    [{ prompt: 'a', best_of: 2 }, 'best_of'],
    [{ prompt: 'a', logit_bias: { 5: 1 } }, 'logit_bias'],
    [{ prompt: 'a', guided_json: {} }, 'guided_json'],
    [{ prompt: 'a', structured_outputs: { regex: 'a' } }, 'structured_outputs'],
    [{ prompt: 'a', response_format: { type: 'json_object' } }, 'response_format'],
    [{ prompt: 'a', ignore_eos: true }, 'ignore_eos'],
    [{ prompt: 'a', suffix: 'b' }, 'suffix'],
    [{ prompt: '\ud800' }, 'prompt'],
  ])('are refused for %j, by the name of the field', async (body, param) => {
    const { post } = await servedModel();
    const { status, json } = await post(PATH, body);
    expect(json.error).toMatchObject({ type: 'BadRequestError', code: 400 });
    expect(status).toBe(400);
    expect(json.error.param ?? json.error.message).toContain(param === 'prompt' ? '' : param);
  });

  it('take the neutral values of what is not supported, and null for anything', async () => {
    const { post } = await servedModel();
    const neutral = {
      best_of: 1,
      logit_bias: {},
      suffix: '',
      priority: 0,
      response_format: { type: 'text' },
    };
    const nulls = { temperature: null, n: null, stop: null, seed: null, logprobs: null, user: null };
    expect((await post(PATH, { prompt: 'a', max_tokens: 2, ...neutral, ...nulls })).status).toBe(200);
  });

  it.each(['', '{', 'null', '[1]', '"a"', '{"prompt": NaN}', '{"prompt": "a", "temperature": Infinity}'])(
    'are refused for a body that is no JSON object: %s',
    async (body) => {
      const { post } = await servedModel();
      expect((await post(PATH, body)).json.error).toMatchObject({ code: 400, type: 'BadRequestError' });
    },
  );
});
