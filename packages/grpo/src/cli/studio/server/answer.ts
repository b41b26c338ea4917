import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Refusal } from '../../../http/refusal.js';
import type { GivenPath } from '../given-paths.js';
import type { Page } from '../page.js';
import type { ChangeWatch } from './change-watch.js';
import type { EventStream } from './event-stream.js';
import { HEADERS } from './headers.js';
import { listFolders } from './list-folder.js';
import { openWithin } from './locate.js';
import { sendFile } from './send-file.js';
import type { Token } from './token.js';
import { namesIn, pathOf } from './virtual-path.js';

/** The sources of a server's answers. */
export interface Sources {
  given: readonly GivenPath[];
  page: Page;
  changes: ChangeWatch;
  events: EventStream;
  /** Undefined where everybody who reaches the server may read. */
  token: Token | undefined;
}

const HTML = { 'content-type': 'text/html; charset=utf-8' };
const SCRIPT = { 'content-type': 'text/javascript; charset=utf-8' };
const STYLE = { 'content-type': 'text/css; charset=utf-8' };
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

const NO_TOKEN =
  'Open the link that the studio printed when it began: it holds the token. ' +
  'If you have, paste this address into the address bar: a link on another site brings no cookie.';

/** Sends a whole answer. */
export function send(
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  body: string,
): void {
  response.writeHead(status, { ...HEADERS, 'content-length': Buffer.byteLength(body), ...headers });
  response.end(body);
}

/**
 * Answers a request that `admit` let in.
 *
 * @throws Refusal
 */
export async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { given, page, changes, events, token }: Sources,
): Promise<void> {
  // Compared as it is written: no path has two spellings.
  const [path, query = ''] = splitOnce(request.url!, '?');
  if (token && path === '/' && brings(token, query)) {
    send(response, 200, { ...HTML, 'set-cookie': token.setCookie, refresh: '0; url=/' }, '');
    return;
  }
  if (token && !token.isCarriedBy(request))
    throw new Refusal(401, NO_TOKEN, { 'www-authenticate': 'Cookie' });
  switch (path) {
    case '/':
      return send(response, 200, HTML, page.html);
    case '/page.js':
      return send(response, 200, SCRIPT, page.script);
    case '/page.css':
      return send(response, 200, STYLE, page.style);
    case '/api/list': {
      const lists = listFolders(given, namesIn(query));
      for (const { names, entries } of lists) changes.watch(names, entries);
      const byPath = lists.map(({ names, entries }) => [pathOf(names), entries] as const);
      return send(response, 200, JSON_TYPE, JSON.stringify(Object.fromEntries(byPath)));
    }
    case '/api/file': {
      const names = namesIn(query);
      using file = openWithin(given, names, 'file');
      changes.watch(names.slice(0, -1));
      return await sendFile(request, response, file.fd);
    }
    case '/api/events':
      return events.add(request, response);
    default:
      throw new Refusal(404, 'There is no such page.');
  }
}

/** Whether a query has the token of the printed link. */
function brings(token: Token, query: string): boolean {
  const [given, ...more] = new URLSearchParams(query).getAll('token');
  return given !== undefined && more.length === 0 && token.is(given);
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
