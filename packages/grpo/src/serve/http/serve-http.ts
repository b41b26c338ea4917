import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { excerpt } from '../../errors/printable.js';
import { UserError } from '../../errors/user-error.js';
import { type Address, addressOf } from '../../http/address.js';
import { listen } from '../../http/listen.js';
import { isOfOtherSite, requireOwnName } from '../../http/own-name.js';
import { refuseUnparsed } from '../../http/refuse-unparsed.js';
import { sameSecret } from '../../http/same-secret.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import { tokenizerFingerprint } from '../../text/tokenizer-fingerprint.js';
import type { ServeEngine } from '../engine.js';
import { ApiError, apiErrorOf, errorBody } from './api-error.js';
import { type Answer, type Call, type Service, send } from './call.js';
import { modelNamed } from './models.js';
import { OPEN, routes } from './routes.js';

/** How a model is served. */
export interface HttpOptions
  extends Pick<Service, 'name' | 'folder' | 'weightFolders' | 'log'>,
    Partial<Pick<Service, 'mostWaiting'>> {
  host: string;
  /** 0 for any that is free. */
  port: number;
  /** The key that every request brings; none is asked for when left out. */
  apiKey?: string | undefined;
}

/** A server that listens. */
export interface HttpServer {
  /** Without a slash at the end. */
  url: string;
  isLoopback: boolean;
  /** Requests answered, refusals included. */
  readonly answered: number;
  /** Takes no more requests, and ends those that are there within so many milliseconds. */
  close(patience: number): Promise<void>;
}

/** A request has this long to arrive, and its headers this long. */
const [REQUEST_MS, HEADERS_MS] = [30_000, 10_000];
/** Completions that may wait at once. */
const MOST_WAITING = 4096;

/**
 * Serves an engine by vLLM's calls and SGLang's.
 *
 * @throws UserError where the address or the port is not to be had
 */
export async function serveHttp(engine: ServeEngine, options: HttpOptions): Promise<HttpServer> {
  const { name, folder, weightFolders, log, apiKey, mostWaiting = MOST_WAITING } = options;
  const address = await addressOf(options.host);
  const server = createServer({
    requestTimeout: REQUEST_MS,
    headersTimeout: HEADERS_MS,
    connectionsCheckingInterval: 2000,
    requireHostHeader: false,
  });
  server.maxConnections = 4096;
  const port = await listen(server, address.ip, [options.port]);
  if (port === undefined)
    throw new UserError(`port ${options.port} is taken`, { hint: 'Choose one: --port N' });
  const url = `http://${address.names[0]}:${port}`;
  const service: Service = {
    engine,
    name,
    folder,
    tokenizerFingerprint: tokenizerFingerprint(engine.model.tokenizer),
    longestToken: longestTokenOf(engine.model.tokenizer),
    weightFolders,
    mostWaiting,
    started: Math.floor(Date.now() / 1000),
    log,
  };
  const requests = new Set<ServerResponse>();
  let answered = 0;
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const gone = new AbortController();
    requests.add(response);
    response.on('close', () => {
      requests.delete(response);
      gone.abort(new Error('the client hung up'));
    });
    try {
      admit(request, { address, url, apiKey });
      if (!URL.canParse(request.url!, url))
        throw new ApiError(400, `not an address: ${excerpt(request.url!)}`);
      const { pathname, searchParams } = new URL(request.url!, url);
      const call: Call = { request, response, query: searchParams, signal: gone.signal };
      const answer = await answerTo(service, call, pathname);
      if (answer !== undefined) send(response, 200, answer);
    } catch (error) {
      if (!gone.signal.aborted) refuse(response, error, log);
    }
    answered++;
    // What the client still sends of a request that is answered already.
    request.resume();
  };
  server.on('request', handle);
  const refuseRaw = (error: { code?: string }, socket: Duplex) => refuseUnparsed(error, socket, {});
  server.on('clientError', refuseRaw);
  server.on('connect', (_, socket) => refuseRaw({ code: 'CONNECT' }, socket));
  return {
    url,
    isLoopback: address.isLoopback,
    get answered() {
      return answered;
    },
    async close(patience) {
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      const end = performance.now() + patience;
      while (requests.size > 0 && performance.now() < end) await sleep(20);
      server.closeAllConnections();
      await closed;
    },
  };
}

function longestTokenOf(tokenizer: Tokenizer): number {
  let longest = 0;
  for (let id = 0; id < tokenizer.vocabSize; id++) longest = Math.max(longest, tokenizer.bytesOf(id).length);
  return longest;
}

/** @throws Refusal: it brings no key, or comes from a page of another site */
function admit(
  request: IncomingMessage,
  { address, url, apiKey }: { address: Address; url: string; apiKey: string | undefined },
): void {
  if (isOfOtherSite(request)) throw new ApiError(403, 'This server answers no pages of other sites.');
  if (apiKey === undefined) {
    // Behind another address names are not known, and whoever chose it without a key lets everybody in.
    const isOwn = (host: string) => !address.isLoopback || address.names.includes(host.replace(/:\d+$/, ''));
    requireOwnName(request, isOwn, url);
    return;
  }
  if (OPEN.has(request.url!)) return;
  const [scheme, key = ''] = (request.headers.authorization ?? '').split(' ', 2);
  if (scheme!.toLowerCase() !== 'bearer' || !sameSecret(apiKey, key))
    throw new ApiError(401, 'This server asks for its key: Authorization: Bearer KEY.', {
      headers: { 'www-authenticate': 'Bearer' },
    });
}

/** @throws Refusal, and what handlers throw */
function answerTo(service: Service, call: Call, path: string): Promise<Answer> | Answer {
  const method = call.request.method === 'HEAD' ? 'GET' : call.request.method!;
  if (method === 'GET' && path.startsWith('/v1/models/'))
    return modelNamed(service, nameIn(path.slice('/v1/models/'.length)));
  const route = Object.hasOwn(routes, path) ? routes[path]! : undefined;
  if (!route) throw new ApiError(404, `There is no call ${method} ${path} here.`);
  if (!Object.hasOwn(route, method)) {
    const allow = Object.keys(route).join(', ');
    throw new ApiError(405, `${path} is asked by ${allow}, not by ${method}.`, { headers: { allow } });
  }
  return route[method as keyof typeof route]!(service, call);
}

function nameIn(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    throw new ApiError(400, `The name of the model is not well written: ${(cause as Error).message}.`);
  }
}

function refuse(response: ServerResponse, error: unknown, log: (text: string) => void): void {
  const known = apiErrorOf(error);
  if (known.status === 500) log(`The server could not answer: ${(error as Error).stack ?? error}`);
  if (response.headersSent) response.destroy();
  else send(response, known.status, errorBody(known), known.headers);
}
