import { once } from 'node:events';
import { realpathSync, symlinkSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { UserError } from '../../errors/user-error.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { RequestAborted } from '../request-aborted.js';
import { adapterFolder, weightsFolder } from '../serve.test.helper.js';
import { eventsIn, servedModel, statusOf } from './served-model.test.helper.js';

const greedy = { prompt: 'a', temperature: 0, max_tokens: 8, logprobs: 0 };

describe('adapters', () => {
  it('are loaded under names, listed with their parent, sampled, and unloaded', async () => {
    const { post, get, lines, model } = await servedModel();
    const folder = realpathSync(adapterFolder(model, 9));
    const before = (await post('/v1/completions', greedy)).json;
    const loaded = await post('/v1/load_lora_adapter', { lora_name: 'step-1', lora_path: folder });
    expect(loaded).toMatchObject({ status: 200, text: "Success: LoRA adapter 'step-1' added successfully." });
    const { data } = (await get('/v1/models')).json;
    expect(data).toMatchObject([
      { id: 'tiny', parent: null, max_model_len: 64 },
      { id: 'step-1', parent: 'tiny', root: folder },
    ]);
    expect((await get('/v1/models/step-1')).json).toEqual(data[1]);
    const sampled = (await post('/v1/completions', { ...greedy, model: 'step-1' })).json;
    expect(sampled.model).toBe('step-1');
    expect(sampled.choices[0].logprobs).not.toEqual(before.choices[0].logprobs);
    const { checksums } = (await post('/weight_checker', { action: 'checksum' })).json;
    expect(sampled.choices[0].weights_checksum).toBe(checksums['step-1']);
    expect(before.choices[0].weights_checksum).toBe(checksums.tiny);
    expect((await post('/v1/completions', greedy)).json.choices).toEqual(before.choices);
    const again = await post('/v1/load_lora_adapter', { lora_name: 'step-1', lora_path: folder });
    expect(again.json.error.message).toContain('is loaded already');
    await post('/v1/unload_lora_adapter', { lora_name: 'step-1' });
    for (const path of ['/v1/completions', '/v1/chat/completions']) {
      const gone = await post(path, {
        ...greedy,
        messages: [{ role: 'user', content: 'a' }],
        logprobs: undefined,
        model: 'step-1',
      });
      expect(gone).toMatchObject({ status: 404, json: { error: { type: 'NotFoundError', param: 'model' } } });
    }
    expect((await post('/v1/unload_lora_adapter', { lora_name: 'step-1' })).status).toBe(404);
    expect(lines).toEqual([`Adapter step-1 is loaded from ${folder}.`, 'Adapter step-1 is unloaded.']);
  });

  it('and weights come from the folders that were allowed, however the path is written', async () => {
    const weights = realpathSync(tempFolder());
    const { post } = await servedModel({ weightFolders: [weights] });
    const outside = tempFolder();
    symlinkSync(outside, join(weights, 'link'));
    const load = (lora_path: string) => post('/v1/load_lora_adapter', { lora_name: 'x', lora_path });
    for (const path of [
      outside,
      '/etc',
      '/nowhere',
      join(weights, 'link'),
      `${weights}/../..`,
      `${weights}/a/../../b`,
      `${weights}-not`,
    ]) {
      const { status, json } = await load(path);
      expect([path, status]).toEqual([path, 403]);
      expect(json.error.message).toContain(`This server loads from ${weights}/ only (--weights-from).`);
    }
    expect((await load(join(weights, 'absent'))).status).toBe(404);
    const update = await post('/update_weights_from_disk', { model_path: outside });
    expect(update.status).toBe(403);
  });

  it('are loaded from nowhere where no folder was allowed', async () => {
    const { post } = await servedModel({ weightFolders: [] });
    const { status, json } = await post('/load_lora_adapter', { lora_name: 'x', lora_path: '/' });
    expect(status).toBe(403);
    expect(json.error.message).toContain('it was started without --weights-from FOLDER');
  });
});

describe('weights', () => {
  it('are replaced by those of a folder, with their version', async () => {
    const { post, get, model } = await servedModel();
    const folder = weightsFolder(model, 1.5);
    const before = (await post('/v1/completions', greedy)).json;
    const update = await post('/update_weights_from_disk', { model_path: folder, weight_version: 'step-2' });
    expect(update.json).toMatchObject({ success: true });
    const after = (await post('/v1/completions', greedy)).json;
    expect(before.weight_version).toBe('default');
    expect(after.weight_version).toBe('step-2');
    expect(after.choices[0].weights_checksum).not.toBe(before.choices[0].weights_checksum);
    expect((await get('/weight_info')).json).toEqual({ weight_version: 'step-2' });
    expect((await get('/get_model_info')).json).toMatchObject({ weight_version: 'step-2', vocab_size: 262 });
  });

  it('wait while the server is paused, and requests with them', async () => {
    const { post, get } = await servedModel();
    expect((await post('/pause?mode=wait')).json).toEqual({ status: 'paused' });
    expect((await get('/is_paused')).json).toEqual({ is_paused: true });
    expect((await post('/weight_checker', { action: 'checksum' })).status).toBe(409);
    let done = false;
    const waiting = post('/v1/completions', greedy).finally(() => (done = true));
    await get('/health');
    await sleep(50);
    expect(done).toBe(false);
    expect((await post('/resume')).json).toEqual({ status: 'resumed' });
    expect((await waiting).status).toBe(200);
    expect((await post('/pause?mode=x')).json.error.param).toBe('mode');
  });
});

describe('SGLang', () => {
  it('is answered with ids, log-probs and versions', async () => {
    const { post, model } = await servedModel();
    const input_ids = model.tokenizer.encode('1+1=');
    const asked = {
      prompt: input_ids,
      seed: 6,
      n: 2,
      max_tokens: 5,
      logprobs: 0,
      return_token_ids: true,
      vllm_xargs: { random_keys: [1] },
    };
    const { choices } = (await post('/v1/completions', asked)).json;
    const { json } = await post('/generate', {
      input_ids,
      sampling_params: { n: 2, max_new_tokens: 5, temperature: 1, top_k: -1 },
      return_logprob: true,
      logprob_start_len: 0,
      seed: 6,
      random_keys: [1],
    });
    expect(json).toHaveLength(2);
    for (const [i, { output_ids, meta_info }] of json.entries()) {
      expect(output_ids).toEqual(choices[i].token_ids);
      expect(meta_info.output_token_logprobs.map(([logprob]: [number]) => logprob)).toEqual(
        choices[i].logprobs.token_logprobs,
      );
      expect(meta_info.input_token_logprobs.map(([, id]: [number, number]) => id)).toEqual(input_ids);
      expect(meta_info).toMatchObject({
        prompt_tokens: 4,
        weight_version: 'default',
        finish_reason: { type: choices[i].finish_reason },
      });
    }
    const scored = await post('/generate', {
      input_ids,
      sampling_params: { max_new_tokens: 0 },
      return_logprob: true,
      logprob_start_len: 0,
    });
    expect(scored.json.meta_info.input_token_logprobs).toEqual(json[0].meta_info.input_token_logprobs);
    expect((await post('/generate', { text: 'a' })).json.error.param).toBe('text');
  });
});

describe('a server', () => {
  it('says what it is', async () => {
    const { get, post, model } = await servedModel();
    expect(await get('/health')).toMatchObject({ status: 200, text: '' });
    expect((await get('/version')).json).toMatchObject({ engine: 'grpo' });
    const { vllm_config, tokenizer_fingerprint } = (await get('/server_info')).json;
    expect(vllm_config.model_config).toMatchObject({
      dtype: 'float32',
      logprobs_mode: 'processed_logprobs',
      vocab_size: 262,
      max_model_len: 64,
    });
    expect(tokenizer_fingerprint).toMatch(/^[0-9a-f]{32}$/);
    const { tokens } = (await post('/tokenize', { prompt: 'añ' })).json;
    expect(tokens).toEqual(model.tokenizer.encode('añ'));
    expect((await post('/detokenize', { tokens })).json).toEqual({ prompt: 'añ' });
    await post('/v1/completions', { ...greedy, max_tokens: 3 });
    expect((await get('/metrics')).text).toMatch(
      /^vllm:generation_tokens_total\{model_name="tiny"\} [1-3]$/m,
    );
  });

  it('knows no other calls and methods', async () => {
    const { get, post } = await servedModel();
    expect((await get('/v1/embeddings')).json.error).toMatchObject({ code: 404 });
    expect((await get('/constructor')).json.error).toMatchObject({ code: 404 });
    const wrong = await get('/v1/completions');
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await post('/v1/models', {})).status).toBe(405);
  });

  it('asks for its key, and for none at a health check', async () => {
    const { get, post } = await servedModel({ apiKey: 'secret' });
    const bearing = (authorization: string) => get('/v1/models', { headers: { authorization } });
    expect((await get('/health')).status).toBe(200);
    expect((await get('/v1/models')).json.error).toMatchObject({ type: 'AuthenticationError', code: 401 });
    for (const header of ['Bearer', 'Bearer ', 'Bearer secre', 'Bearer secret2', 'Basic secret', 'secret'])
      expect((await bearing(header)).status).toBe(401);
    expect((await bearing('Bearer secret')).status).toBe(200);
    expect((await post('/pause')).status).toBe(401);
  });

  it('answers no page of another site, and to no other name', async () => {
    const { url, port } = await servedModel();
    const status = (headers: Record<string, string>) => statusOf(`${url}/v1/models`, headers);
    expect(await status({ host: `localhost:${port}` })).toBe(200);
    expect(await status({ host: 'evil.example' })).toBe(421);
    expect(await status({ origin: 'https://evil.example' })).toBe(403);
    expect(await status({ origin: url })).toBe(200);
  });

  it('refuses requests while too many wait, and says when to come again', async () => {
    const { post } = await servedModel({ mostWaiting: 2 });
    await post('/pause?mode=keep');
    const all = Array.from({ length: 12 }, () => post('/v1/completions', { ...greedy, n: 1 }));
    const first = await Promise.race(all);
    expect(first.json.error).toMatchObject({ type: 'RateLimitError', code: 429 });
    expect(first.headers.get('retry-after')).toBe('1');
    await post('/resume');
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(1);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
  });

  it('answers 503 to a request that the engine aborts', async () => {
    const { post, engine } = await servedModel();
    vi.spyOn(engine, 'generate').mockRejectedValue(new RequestAborted('the server was paused'));
    const { status, json, headers } = await post('/v1/completions', greedy);
    expect([status, json.error.type]).toEqual([503, 'ServiceUnavailableError']);
    expect(headers.get('retry-after')).toBe('1');
    expect(json.error.message).toBe('the request was aborted: the server was paused');
  });

  it('answers 500 without its own words to what nobody foresaw, and tells its people', async () => {
    const { post, engine, lines } = await servedModel();
    vi.spyOn(engine, 'generate').mockRejectedValue(new Error('at /home/me'));
    const { status, text } = await post('/v1/completions', greedy);
    expect([status, text.includes('/home/me')]).toEqual([500, false]);
    expect(lines.join()).toContain('at /home/me');
  });

  it('tells an error in the middle of a stream as an event', async () => {
    const { post, engine } = await servedModel();
    vi.spyOn(engine, 'generate').mockImplementation(async ({ onToken }) => {
      for (let id = 70; id < 73; id++) onToken!(0, { id, logprob: -1, sampledLogprob: -1 });
      throw new RequestAborted('the server ended');
    });
    const { status, text } = await post('/v1/completions', { ...greedy, stream: true });
    const events = eventsIn(text);
    expect(status).toBe(200);
    expect(events).toHaveLength(3);
    expect(events[2].error).toMatchObject({ code: 503 });
  });

  it('takes rows out of the batch when the client hangs up, and when a pause aborts them', async () => {
    const { url, engine, post } = await servedModel();
    // All 60 tokens take less than the 50 ms between two looks otherwise.
    const begun = () => vi.waitUntil(() => engine.load.running > 0, { interval: 1, timeout: 10_000 });
    const long = { prompt: 'a', n: 64, max_tokens: 60, min_tokens: 60 };
    const gone = new AbortController();
    const body = JSON.stringify({ ...long, stream: true });
    const asked = fetch(`${url}/v1/completions`, { method: 'POST', body, signal: gone.signal });
    await begun();
    gone.abort();
    await asked.then((answer) => answer.text()).catch(() => {});
    await vi.waitUntil(() => engine.load.running === 0);
    expect(engine.load.tokens).toBeLessThan(64 * 60);
    const aborted = post('/v1/completions', long);
    await begun();
    await post('/pause?mode=abort');
    expect((await aborted).json.error).toMatchObject({ code: 503, type: 'ServiceUnavailableError' });
    await post('/resume');
    expect((await post('/v1/completions', greedy)).status).toBe(200);
  });

  it('takes back the requests of a client that hangs up, and those of a list of which one fails', async () => {
    const { url, engine, post } = await servedModel();
    const signals: AbortSignal[] = [];
    vi.spyOn(engine, 'generate').mockImplementation(({ signal, prompt }) => {
      signals.push(signal!);
      if (prompt.length === 3) return Promise.reject(new UserError('too long'));
      return new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason)));
    });
    const failed = await post('/v1/completions', { prompt: ['a', 'abc', 'b'] });
    expect(failed.json.error).toMatchObject({ code: 400, message: 'too long' });
    expect(signals.splice(0).map(({ aborted }) => aborted)).toEqual([true, true, true]);
    for (const stream of [false, true]) {
      const gone = new AbortController();
      const body = JSON.stringify({ prompt: 'a', stream });
      const asked = fetch(`${url}/v1/completions`, { method: 'POST', body, signal: gone.signal });
      await vi.waitUntil(() => signals.length > 0);
      gone.abort();
      await expect(asked).rejects.toThrow('aborted');
      await vi.waitUntil(() => signals[0]!.aborted);
      signals.length = 0;
    }
  });

  it('refuses a body that is too large, before it is whole', async () => {
    const { port, get } = await servedModel();
    const socket = createConnection({ port, host: '127.0.0.1' });
    socket.write('POST /v1/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 99999999\r\n\r\n{');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
    expect((await get('/health')).status).toBe(200);
  });

  it('refuses what is no address', async () => {
    const { port, lines } = await servedModel();
    const socket = createConnection({ port, host: '127.0.0.1' });
    socket.write('GET // HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 (.*\s)*.*not an address: /);
    socket.destroy();
    expect(lines).toEqual([]);
  });

  it('answers others while five hundred connections send nothing', async () => {
    const { port, post } = await servedModel();
    const sockets = Array.from({ length: 500 }, () => createConnection({ port, host: '127.0.0.1' }));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) socket.write('POST /v1/completions HTTP/1.1\r\ncontent-len');
    expect((await post('/v1/completions', greedy)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});
