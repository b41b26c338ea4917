/** One request to a server that speaks the chat completions of OpenAI, and its errors. */

import { byteCount } from '../../errors/byte-count.js';
import { excerpt } from '../../errors/printable.js';
import { UserError } from '../../errors/user-error.js';
import { isObject } from '../../formats/json.js';
import { fetchReason } from '../../http/fetch-reason.js';
import { retryAfter } from '../../http/retry-after.js';

/** No verdict is this long; a longer reply is not read to its end. */
const MAX_BODY_BYTES = 2 ** 20;

/** A server and the model that it is asked for. */
export interface Endpoint {
  url: URL;
  model: string;
  /** Sent and never shown. */
  key: string | undefined;
  /** The variable that it came from, for messages. */
  keyEnv: string | undefined;
}

/** A request that gave no reply. */
export class RequestError extends Error {
  constructor(
    message: string,
    /** Whether the same request may do better later. */
    readonly mayRepeat: boolean,
    readonly status?: number,
    /** How long the server wants to be left alone. */
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }
}

/**
 * The endpoint that settings name.
 * @throws UserError for a URL that is none, or an environment variable without a key
 */
export function endpointOf(settings: {
  baseURL: string;
  model: string;
  apiKeyEnv?: string | undefined;
}): Endpoint {
  const { baseURL, model, apiKeyEnv: keyEnv } = settings;
  const url = URL.canParse(baseURL) ? new URL(baseURL) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UserError(`judge: baseURL is ${excerpt(baseURL)}, expected http://… or https://…`);
  if (url.username !== '' || url.password !== '') {
    throw new UserError(`judge: the baseURL of ${url.host} has a name or password in it`, {
      hint: 'Put the key into an environment variable, and its name into apiKeyEnv.',
    });
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/chat/completions`;
  const key = keyEnv === undefined ? undefined : process.env[keyEnv]?.trim();
  if (keyEnv !== undefined && !key) {
    throw new UserError(`judge: apiKeyEnv names the environment variable ${keyEnv}, which is not set`, {
      hint: `Set it to the key of ${url.host}, or take apiKeyEnv out for a server without one.`,
    });
  }
  return { url, model, key, keyEnv };
}

/**
 * Asks at temperature 0 and returns the text of the reply.
 *
 * @param signal - gives up at once, and rejects with its reason
 * @throws Refused for any other reason
 */
export async function complete(
  endpoint: Endpoint,
  message: string,
  { timeoutSeconds, jsonMode }: { timeoutSeconds: number; jsonMode: boolean },
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const cancel = () => controller.abort();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    cancel();
  }, 1000 * timeoutSeconds);
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const response = await send(endpoint, message, jsonMode, controller.signal);
    const body = withoutKey(await readBody(response), endpoint);
    if (!response.ok) throw refusalOf(response, body, endpoint);
    return contentOf(body);
  } catch (error) {
    signal.throwIfAborted();
    if (late) throw new RequestError(`no reply within ${timeoutSeconds} s`, true);
    throw error instanceof RequestError
      ? error
      : new RequestError(`no connection: ${fetchReason(error)}`, true);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
    // Closes the connection where the body was not read to its end.
    cancel();
  }
}

function send({ url, model, key }: Endpoint, message: string, jsonMode: boolean, signal: AbortSignal) {
  return fetch(url, {
    method: 'POST',
    // A key goes to the server that it was given for.
    redirect: 'manual',
    signal,
    headers: {
      'content-type': 'application/json',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({
      model,
      temperature: 0,
      messages: [{ role: 'user', content: message }],
      ...(jsonMode && { response_format: { type: 'json_object' } }),
    }),
  });
}

async function readBody(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES)
      throw new RequestError(`the reply is longer than ${byteCount(MAX_BODY_BYTES)}`, false);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Some servers show the key that they refuse. */
const withoutKey = (body: string, { key }: Endpoint) =>
  key === undefined ? body : body.replaceAll(key, '[key]');

/** Statuses under which the same request may succeed later. */
const mayPass = (status: number) => status >= 500 || [408, 409, 425, 429].includes(status);

function refusalOf({ status, headers }: Response, body: string, { key, keyEnv }: Endpoint): RequestError {
  const said = body.trim() === '' ? '' : `: ${excerpt(body)}`;
  if (status >= 300 && status < 400)
    return new RequestError(`HTTP ${status}, redirected to ${headers.get('location')}`, false, status);
  if (status === 401 || status === 403) {
    const advice = key === undefined ? 'give apiKeyEnv' : `check the key in ${keyEnv}`;
    return new RequestError(`HTTP ${status}, ${advice}${said}`, false, status);
  }
  return new RequestError(
    `HTTP ${status}${said}`,
    mayPass(status),
    status,
    retryAfter(headers.get('retry-after')),
  );
}

function contentOf(body: string): string {
  const { content, finish } = messageIn(body);
  if (finish === 'length')
    throw new RequestError('the reply was cut off at the token limit of the server', false);
  // A proxy's page, or half an answer: the next one may be whole.
  if (typeof content !== 'string') throw new RequestError(`not a chat completion: ${excerpt(body)}`, true);
  return content;
}

function messageIn(body: string): { content?: unknown; finish?: unknown } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    // Told by its missing content.
    return {};
  }
  const choice: unknown = isObject(parsed) && Array.isArray(parsed.choices) ? parsed.choices[0] : undefined;
  if (!isObject(choice) || !isObject(choice.message)) return {};
  return { content: choice.message.content, finish: choice.finish_reason };
}
