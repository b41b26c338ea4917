import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { UserError } from '../../errors/user-error.js';
import { complete, endpointOf, RequestError } from './chat.js';
import { type Behaviour, judgeServer, say } from './server.test.helper.js';

const KEY = 'sk-not-to-be-told';
const QUICK = { timeoutSeconds: 5, jsonMode: true };

async function refusal(behaviour: Behaviour, timeoutSeconds = 5): Promise<RequestError> {
  vi.stubEnv('TEST_JUDGE_KEY', KEY);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { baseURL } = await judgeServer(behaviour);
  const endpoint = endpointOf({ baseURL, model: 'm', apiKeyEnv: 'TEST_JUDGE_KEY' });
  const error: unknown = await complete(endpoint, 'hello', { timeoutSeconds, jsonMode: true }, NEVER).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(RequestError);
  expect((error as RequestError).message).not.toContain(KEY);
  return error as RequestError;
}

const NEVER = new AbortController().signal;

describe('complete', () => {
  it('asks the model at temperature 0, with the key of the variable', async () => {
    vi.stubEnv('TEST_JUDGE_KEY', KEY);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { baseURL, asked } = await judgeServer((response) => say(response, '{"score": 1}'));
    const endpoint = endpointOf({ baseURL: `${baseURL}/`, model: 'm', apiKeyEnv: 'TEST_JUDGE_KEY' });
    expect(await complete(endpoint, 'hello', QUICK, NEVER)).toBe('{"score": 1}');
    expect(
      await complete({ ...endpoint, key: undefined }, 'hello', { ...QUICK, jsonMode: false }, NEVER),
    ).toBe('{"score": 1}');
    expect(asked.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/chat/completions']);
    expect(asked[0]!.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(asked[1]!.headers.authorization).toBeUndefined();
    const body = { model: 'm', temperature: 0, messages: [{ role: 'user', content: 'hello' }] };
    expect(asked.map((one) => one.body)).toEqual([
      { ...body, response_format: { type: 'json_object' } },
      body,
    ]);
  });

  const page: Behaviour = (response) => response.end('<html>busy</html>');
  it.each<[string, Behaviour, Partial<RequestError>]>([
    ['400', (r) => r.writeHead(400).end('{"error": "no such model"}'), { mayRepeat: false, status: 400 }],
    [
      '401 that shows the key',
      (r) => r.writeHead(401).end(`wrong key ${KEY}`),
      { mayRepeat: false, status: 401 },
    ],
    ['404', (r) => r.writeHead(404).end(), { mayRepeat: false, status: 404 }],
    ['429', (r) => r.writeHead(429).end(), { mayRepeat: true, status: 429, retryAfterSeconds: undefined }],
    [
      '429 with seconds',
      (r) => r.writeHead(429, { 'retry-after': '7' }).end(),
      { mayRepeat: true, retryAfterSeconds: 7 },
    ],
    [
      '429 with nonsense',
      (r) => r.writeHead(429, { 'retry-after': 'soon' }).end(),
      { mayRepeat: true, retryAfterSeconds: undefined },
    ],
    [
      '503 with a date that is over',
      (r) => r.writeHead(503, { 'retry-after': 'Wed, 01 Jan 2020 00:00:00 GMT' }).end(),
      { mayRepeat: true, status: 503, retryAfterSeconds: 0 },
    ],
    ['500', (r) => r.writeHead(500).end('oops'), { mayRepeat: true, status: 500 }],
    [
      'a redirection',
      (r) => r.writeHead(307, { location: 'http://other/' }).end(),
      { mayRepeat: false, status: 307 },
    ],
    ['a connection that drops', (r) => r.destroy(), { mayRepeat: true, status: undefined }],
    [
      'a body that is cut off',
      (r) => {
        r.writeHead(200, { 'content-length': '500' });
        r.write('{"choices": [', () => r.destroy());
      },
      { mayRepeat: true },
    ],
    ['a body of 3 MB', (r) => r.end(Buffer.alloc(3e6, 0x61)), { mayRepeat: false }],
    ['a page', page, { mayRepeat: true }],
    ['JSON of another form', (r) => r.end('{"choices": []}'), { mayRepeat: true }],
    [
      'content that is no text',
      (r) => r.end('{"choices": [{"message": {"content": 7}}]}'),
      { mayRepeat: true },
    ],
    ['a reply that the server cut off', (r) => say(r, '{"sco', 'length'), { mayRepeat: false }],
  ])('refuses %s', async (_, behaviour, expected) => {
    expect(await refusal(behaviour)).toMatchObject(expected);
  });

  it('says what went wrong', async () => {
    expect((await refusal(page)).message).toBe('not a chat completion: "<html>busy</html>"');
    const unauthorized = await refusal((response) => response.writeHead(401).end(`wrong key ${KEY}`));
    expect(unauthorized.message).toBe('HTTP 401, check the key in TEST_JUDGE_KEY: "wrong key [key]"');
    expect((await refusal((response) => response.destroy())).message).toMatch(/^no connection: /);
  });

  it('gives up a server that never answers, or stops in the middle', async () => {
    const silent = await refusal(() => undefined, 0.1);
    expect(silent).toMatchObject({ message: 'no reply within 0.1 s', mayRepeat: true });
    const half = await refusal((response) => response.write('{"choices": ['), 0.1);
    expect(half.message).toBe('no reply within 0.1 s');
  });

  it('names a server that is not there', async () => {
    const server = createServer();
    const port = await new Promise<number>((resolve) =>
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
    );
    await new Promise((resolve) => server.close(resolve));
    const endpoint = endpointOf({ baseURL: `http://127.0.0.1:${port}`, model: 'm' });
    await expect(complete(endpoint, 'hello', QUICK, NEVER)).rejects.toThrow(/^no connection: .*ECONNREFUSED/);
  });

  it('stops at once when it is called off, with that reason', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const { baseURL } = await judgeServer(() => controller.abort(reason));
    const asking = complete(endpointOf({ baseURL, model: 'm' }), 'hello', QUICK, controller.signal);
    await expect(asking).rejects.toBe(reason);
    await expect(
      complete(endpointOf({ baseURL, model: 'm' }), 'hello', QUICK, controller.signal),
    ).rejects.toBe(reason);
  });
});

describe('endpointOf', () => {
  it.each([
    [{ baseURL: 'localhost:8000' }, 'baseURL is "localhost:8000", expected http://'],
    [{ baseURL: 'http://me:secret@host/v1' }, 'the baseURL of host has a name or password in it'],
    [{ baseURL: 'http://host/v1', apiKeyEnv: 'TEST_NO_KEY' }, 'TEST_NO_KEY, which is not set'],
  ])('refuses %j', (settings, message) => {
    const open = () => endpointOf({ model: 'm', ...settings });
    expect(open).toThrow(UserError);
    expect(open).toThrow(message);
    expect(open).not.toThrow('secret');
  });

  it('keeps what follows the path', () => {
    expect(endpointOf({ baseURL: 'https://host/a/?version=1', model: 'm' }).url.href).toBe(
      'https://host/a/chat/completions?version=1',
    );
  });
});
