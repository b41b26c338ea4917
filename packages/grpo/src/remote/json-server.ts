import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import { isObject } from '../formats/json.js';
import { retryAfter } from '../http/retry-after.js';
import { NoAnswer, Refusal } from './server-error.js';

/** Seconds until a connection is there. */
const CONNECT = 10;

/** Seconds for a question that takes no work. */
const QUESTION = 15;

// A connection of its own for each request: a kept one may be closed by the server just as it is used again.
const agents = {
  'http:': new HttpAgent({ keepAlive: false }),
  'https:': new HttpsAgent({ keepAlive: false }),
};

/**
 * The key of a server, from the environment.
 *
 * @param setting - that names the variable
 * @throws UserError: the variable is not set
 */
export function keyIn(setting: string, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const key = process.env[name]?.trim();
  if (key) return key;
  throw new UserError(`${setting} names the environment variable ${name}, which is not set`, {
    hint: `Set it to the key of the servers, or take ${setting} out for servers without one.`,
  });
}

/** One request. */
interface Ask {
  method: 'GET' | 'POST';
  path: string;
  body?: object | undefined;
  /** Until the answer is whole; that of a question without work when not given. */
  seconds?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** A server that is asked in JSON and answers in JSON. */
export class JsonServer {
  /** Host and port, for messages. */
  readonly name: string;

  /**
   * @param url - without a slash at the end
   * @param workSeconds - how long it may work for a request
   * @param key - which it asks for; never shown
   */
  constructor(
    readonly url: string,
    readonly workSeconds: number,
    private readonly key?: string | undefined,
  ) {
    this.name = new URL(url).host;
  }

  get(path: string, signal?: AbortSignal): Promise<unknown> {
    return this.#ask({ method: 'GET', path, signal });
  }

  /** Asks for something that is done at once. */
  post(path: string, body: object, signal?: AbortSignal): Promise<unknown> {
    return this.#ask({ method: 'POST', path, body, signal });
  }

  /** Asks for work, which takes as long as `workSeconds`. */
  work(path: string, body: object, signal?: AbortSignal): Promise<unknown> {
    return this.#ask({ method: 'POST', path, body, seconds: this.workSeconds, signal });
  }

  /** @throws NoAnswer, Refusal; the signal's reason */
  async #ask(ask: Ask): Promise<unknown> {
    const { status, headers, text: whole } = await this.#exchange(ask);
    // Some servers show the key that they refuse.
    const text = this.key === undefined ? whole : whole.replaceAll(this.key, '[key]');
    const said = text.trim() === '' ? '' : `: ${excerpt(messageIn(text))}`;
    if (status === 429 || status >= 500) {
      const pause = retryAfter(headers['retry-after'] ?? null);
      throw new NoAnswer(`answers ${status} to ${ask.path}${said}`, status !== 429 && status !== 503, pause);
    }
    if (status < 200 || status >= 300) throw new Refusal(status, `answers ${status} to ${ask.path}${said}`);
    // Health checks and the like answer nothing, or a word.
    if (!/json/.test(headers['content-type'] ?? '')) return {};
    const answer = parsed(text);
    if (answer === undefined) throw new NoAnswer(`its answer to ${ask.path} is no whole JSON${said}`, true);
    return answer;
  }

  #exchange({ method, path, body, seconds = QUESTION, signal }: Ask) {
    const url = new URL(this.url + path);
    const content = body && Buffer.from(JSON.stringify(body));
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    return new Promise<{ status: number; headers: IncomingMessage['headers']; text: string }>(
      (resolve, reject) => {
        signal?.throwIfAborted();
        let wasSent = false;
        const outgoing = request(url, {
          method,
          agent: agents[url.protocol as keyof typeof agents],
          headers: {
            accept: 'application/json',
            ...(this.key !== undefined && { authorization: `Bearer ${this.key}` }),
            ...(content && { 'content-type': 'application/json', 'content-length': content.length }),
          },
        });
        const fail = (error: Error) => {
          outgoing.destroy();
          reject(error);
        };
        const late = (limit: number, what: string) =>
          setTimeout(() => fail(new NoAnswer(`${what} within ${limit} s`, wasSent)), 1000 * limit);
        const connecting = late(Math.min(CONNECT, seconds), 'no connection');
        const answering = late(seconds, `no whole answer to ${path}`);
        const abort = () => fail(signal!.reason);
        signal?.addEventListener('abort', abort, { once: true });
        outgoing.on('close', () => {
          clearTimeout(connecting);
          clearTimeout(answering);
          signal?.removeEventListener('abort', abort);
        });
        outgoing.on('socket', (socket) =>
          socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
            wasSent = true;
            clearTimeout(connecting);
          }),
        );
        const broken = (error: Error) => fail(new NoAnswer(lossOf(error, path, wasSent), wasSent));
        outgoing.on('error', broken);
        outgoing.on('response', (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', broken);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            resolve({ status: response.statusCode!, headers: response.headers, text });
          });
        });
        outgoing.end(content);
      },
    );
  }
}

const lossOf = (error: NodeJS.ErrnoException, path: string, wasSent: boolean) =>
  wasSent
    ? `the connection was lost before the whole answer to ${path} (${error.code ?? error.message})`
    : `no connection (${error.code ?? error.message})`;

/** Undefined for what is no JSON, such as half of an answer. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** vLLM, SGLang and FastAPI each put the message of an error somewhere else. */
function messageIn(text: string): string {
  const answer = parsed(text);
  if (!isObject(answer)) return text;
  const { error, message, detail } = answer;
  const said = [isObject(error) ? error.message : error, message, detail].find(
    (one) => typeof one === 'string',
  );
  return (said as string | undefined) ?? text;
}
