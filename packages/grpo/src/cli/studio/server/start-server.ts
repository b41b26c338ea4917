import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from '../../../errors/user-error.js';
import { addressOf } from '../../../http/address.js';
import { listen } from '../../../http/listen.js';
import { Refusal } from '../../../http/refusal.js';
import { refuseUnparsed } from '../../../http/refuse-unparsed.js';
import type { GivenPath } from '../given-paths.js';
import type { Page } from '../page.js';
import { admit } from './admit.js';
import { answer, type Sources, send } from './answer.js';
import { ChangeWatch } from './change-watch.js';
import { EventStream } from './event-stream.js';
import { HEADERS, TEXT } from './headers.js';
import { isBrokenOff } from './send-file.js';
import { Token } from './token.js';

/** How the page is served. */
export interface ServerOptions {
  given: readonly GivenPath[];
  page: Page;
  host: string;
  /** The first free one from 4776 on when not given. */
  port?: number | undefined;
  /** Whether a token is needed on a loopback address as well. */
  needsToken?: boolean;
  /** Told of errors that are no fault of a request. */
  report(text: string): void;
}

/** A server that listens. */
export interface StudioServer {
  /** The link to the page, with the token where one is needed. */
  url: string;
  isSecret: boolean;
  isLoopback: boolean;
  closed: Promise<unknown>;
  /** Ends at once, with all connections. */
  close(): void;
  /** Tells listening pages what changed last, and gives them the time to read it. */
  settle(): Promise<void>;
}

/** Pages have this long to begin to read after a last change, and are waited for until they read no more. */
const QUIET_MS = 700;
const SETTLE_MS = 3000;

/**
 * Serves the page and the given files, and changes nothing.
 *
 * @throws UserError where the address or the port is not to be had
 */
export async function startServer(options: ServerOptions): Promise<StudioServer> {
  const { given, page, report } = options;
  const { ip, isLoopback, names } = await addressOf(options.host);
  const server = createServer({ requireHostHeader: false });
  server.maxConnections = 256;
  // A reader that takes nothing for a minute or two is gone.
  server.timeout = 60_000;
  const port = await listenOn(server, ip, options.port);
  const hosts = new Set(names.map((name) => (port === 80 ? name : `${name}:${port}`)));
  const token = isLoopback && !options.needsToken ? undefined : new Token(port);
  const changes = new ChangeWatch(given);
  const events = new EventStream(changes);
  const sources: Sources = { given, page, changes, events, token };
  let asked = performance.now();
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      admit(request, hosts);
      await answer(request, response, sources);
    } catch (error) {
      refuse(response, error, report);
    }
    asked = performance.now();
  };
  server.on('request', handle);
  server.on('checkContinue', handle);
  server.on('checkExpectation', handle);
  const refuseRaw = (error: { code?: string }, socket: Duplex) =>
    refuseUnparsed(error, socket, { ...HEADERS, ...TEXT });
  server.on('clientError', refuseRaw);
  server.on('connect', (_, socket) => refuseRaw({ code: 'CONNECT' }, socket));
  const link = `http://${[...hosts][0]}/`;
  return {
    url: token ? `${link}?token=${token.text}` : link,
    isSecret: token !== undefined,
    isLoopback,
    closed: once(server, 'close'),
    close() {
      server.close();
      server.closeAllConnections();
    },
    async settle() {
      if (!events.hasListeners) return;
      await events.tell();
      const start = performance.now();
      asked = start;
      while (performance.now() - asked < QUIET_MS && performance.now() - start < SETTLE_MS) await sleep(50);
    },
  };
}

function refuse(response: ServerResponse, error: unknown, report: (text: string) => void): void {
  const isRefusal = error instanceof Refusal;
  const failure = error as NodeJS.ErrnoException;
  if (!isRefusal && !isBrokenOff(error)) report(`The studio could not answer: ${failure.message}`);
  // An answer that has begun as a success cannot become a refusal: it breaks off, and the reader notices.
  if (response.headersSent) response.destroy();
  else if (isRefusal) send(response, error.status, { ...TEXT, ...error.headers }, `${error.message}\n`);
  else send(response, 500, TEXT, `That could not be read (${failure.code ?? failure.name}).\n`);
}

/** GRPO on the keys of a telephone. */
const PORT = 4776;
/** Ports that are tried from there on. */
const TRIES = 100;

/** @param asked - the port that must be free; without it the first free one from 4776 on */
async function listenOn(server: Server, ip: string, asked: number | undefined): Promise<number> {
  const ports = asked === undefined ? Array.from({ length: TRIES }, (_, i) => PORT + i) : [asked];
  const port = await listen(server, ip, ports);
  if (port !== undefined) return port;
  throw asked === undefined
    ? new UserError(`all ports from ${PORT} to ${PORT + TRIES - 1} are taken`, {
        hint: 'Choose one: --port N',
      })
    : new UserError(`port ${asked} is taken`, { hint: 'Without --port, the next free one is used.' });
}
