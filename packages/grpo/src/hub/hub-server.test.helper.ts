/** A hub on this machine: the routes that the hub library calls, a second server for large files, and faults. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export const COMMIT = '0123456789abcdef0123456789abcdef01234567';

/** A request as it came. */
export interface Asked {
  url: string;
  range: string | undefined;
  authorization: string | undefined;
}

/** What happens to a request in place of the right answer; `count` is how often the URL was asked for, from 1. */
export type Fault = (request: IncomingMessage, response: ServerResponse, count: number) => boolean;

export interface HubServer {
  endpoint: string;
  /** Requests to the hub, and those to the server of large files. */
  asked: Asked[];
  askedForLarge: Asked[];
  /** Answers in place of the servers when it returns true. */
  fault: Fault | undefined;
  /** The commit that `main` is. */
  commit: string;
  /** What the list says of a file, where that is not the truth. */
  lies: Map<string, object>;
}

export interface HubFiles {
  [path: string]: string | Buffer;
}

/** Files from this size on are LFS files, which the hub sends elsewhere for. */
const LARGE = 1000;

/** Starts a hub that has one repository, until the test ends. */
export async function hubServer(
  files: HubFiles,
  { kind = 'model', name = 'some/model' } = {},
): Promise<HubServer> {
  const contents = new Map(Object.entries(files).map(([path, data]) => [path, Buffer.from(data)]));
  const place = kind === 'dataset' ? `datasets/${name}` : name;
  const counts = new Map<string, number>();
  const refuse = (response: ServerResponse, status: number, code: string) =>
    response
      .writeHead(status, { 'x-error-code': code, 'content-type': 'application/json' })
      .end('{"error":"no"}');

  const broken = (request: IncomingMessage, response: ServerResponse): boolean => {
    const count = (counts.get(request.url!) ?? 0) + 1;
    counts.set(request.url!, count);
    return hub.fault?.(request, response, count) === true;
  };
  const large = await listen((request, response) => {
    hub.askedForLarge.push(askedOf(request));
    if (!broken(request, response))
      sendFile(request, response, contents.get(decodeURIComponent(request.url!.slice(1)))!);
  });
  const server = await listen((request, response) => {
    hub.asked.push(askedOf(request));
    if (broken(request, response)) return;
    const url = new URL(request.url!, hub.endpoint);
    const json = (value: unknown, headers = {}) =>
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    const at = (prefix: string) =>
      url.pathname.startsWith(prefix) ? decodeURIComponent(url.pathname.slice(prefix.length)) : undefined;

    if (url.pathname === `/api/${kind}s`) return json([{ id: name, _id: '1', lastModified: 0 }]);
    const revision = at(`/api/${kind}s/${name}/revision/`);
    if (revision !== undefined) {
      if (revision !== 'main' && revision !== 'v1' && revision !== hub.commit)
        return refuse(response, 404, 'RevisionNotFound');
      return json({ id: name, _id: '1', sha: hub.commit, lastModified: 0 });
    }
    if (url.pathname === `/api/${kind}s/${name}/tree/${hub.commit}`) {
      const entries = [...contents].map(([path, data]) => ({
        ...entryOf(path, data),
        ...hub.lies.get(path),
      }));
      // Two pages, as the hub cuts long lists.
      if (url.searchParams.has('cursor')) return json(entries.slice(2));
      return json([{ type: 'directory', path: 'onnx', size: 0, oid: '0' }, ...entries.slice(0, 2)], {
        link: `<${url.href}&cursor=2>; rel="next"`,
      });
    }
    const path = at(`/${place}/resolve/${hub.commit}/`);
    const data = path === undefined ? undefined : contents.get(path);
    if (!data) return refuse(response, url.pathname.startsWith('/api/') ? 401 : 404, 'RepoNotFound');
    if (data.length < LARGE) return sendFile(request, response, data);
    const location = `http://127.0.0.1:${large}/${encodeURIComponent(path!)}`;
    return response.writeHead(302, { location, 'x-linked-size': String(data.length + 7) }).end();
  });
  const hub: HubServer = {
    endpoint: `http://127.0.0.1:${server}`,
    asked: [],
    askedForLarge: [],
    fault: undefined,
    commit: COMMIT,
    lies: new Map(),
  };
  return hub;
}

/** Sends a file, or the part that a Range header asks for. */
export function sendFile(request: IncomingMessage, response: ServerResponse, data: Buffer): void {
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? -1);
  if (start < 0) response.writeHead(200, { 'content-length': data.length }).end(data);
  else if (start >= data.length) response.writeHead(416, { 'content-range': `bytes */${data.length}` }).end();
  else {
    const range = `bytes ${start}-${data.length - 1}/${data.length}`;
    response
      .writeHead(206, { 'content-range': range, 'content-length': data.length - start })
      .end(data.subarray(start));
  }
}

function entryOf(path: string, data: Buffer) {
  const oid = createHash('sha1').update(`blob ${data.length}\0`).update(data).digest('hex');
  if (data.length < LARGE) return { type: 'file', path, size: data.length, oid };
  const lfs = { oid: createHash('sha256').update(data).digest('hex'), size: data.length, pointerSize: 134 };
  return { type: 'file', path, size: data.length, oid: 'a'.repeat(40), lfs, xetHash: 'b'.repeat(64) };
}

const askedOf = ({ url, headers }: IncomingMessage): Asked => ({
  url: url!,
  range: headers.range,
  authorization: headers.authorization,
});

async function listen(
  handler: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<number> {
  const server: Server = createServer((request, response) => void handler(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
