import { readdirSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { givenPaths } from '../given-paths.js';
import type { ListEntry } from './list-folder.js';
import { type ServerOptions, type StudioServer, startServer } from './start-server.js';

/** A page in place of the built one. */
export const PAGE = { html: '<!doctype html><title>studio</title>', script: 'let page;', style: 'body {}' };

export interface Served extends StudioServer {
  port: number;
  /** What the server told of errors that are not the request's. */
  reports: string[];
  /** Asks for a path of the server, such as `api/list?path=/`. */
  get(path: string, init?: RequestInit): Promise<Response>;
  /** Asks for a file by its virtual path. */
  file(path: string, init?: RequestInit): Promise<Response>;
  list(path: string): Promise<ListEntry[]>;
}

/** Serves paths on a free port of 127.0.0.1 until the test ends. */
export async function serve(
  paths: readonly string[],
  options: Partial<Pick<ServerOptions, 'host' | 'needsToken'>> = {},
): Promise<Served> {
  const reports: string[] = [];
  const server = await startServer({
    given: givenPaths(paths),
    page: PAGE,
    host: '127.0.0.1',
    port: 0,
    report: (text) => reports.push(text),
    ...options,
  });
  onTestFinished(() => server.close());
  const { origin, port } = new URL(server.url);
  const get = (path: string, init?: RequestInit) =>
    fetch(`${origin}/${path}`, { redirect: 'manual', ...init });
  const query = (path: string) => `path=${encodeURIComponent(path)}`;
  return {
    ...server,
    port: Number(port),
    reports,
    get,
    file: (path, init) => get(`api/file?${query(path)}`, init),
    list: async (path) => {
      const lists = await (await get(`api/list?${query(path)}`)).json();
      return (lists as Record<string, ListEntry[]>)[path]!;
    },
  };
}

/** An answer as it came over the wire. */
export interface RawAnswer {
  status: number;
  head: string;
  body: Buffer;
}

/** Sends bytes as they are, which no client would, and reads until the server closes the connection. */
export function sendRaw(port: number, bytes: string | Buffer): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => {
      const all = Buffer.concat(chunks);
      const end = all.indexOf('\r\n\r\n');
      const head = all.subarray(0, Math.max(0, end)).toString('latin1');
      resolve({ status: Number(head.slice(9, 12)), head, body: all.subarray(end + 4) });
    });
  });
}

/** A plain request of one target. */
export const rawGet = (port: number, target: string, ...headers: readonly string[]): Promise<RawAnswer> => {
  const lines = [`GET ${target} HTTP/1.1`, `Host: 127.0.0.1:${port}`, 'Connection: close', ...headers];
  return sendRaw(port, Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'));
};

/** Paths of the files that this process has open. */
export const openFiles = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      // That of the folder itself is closed again.
      return [];
    }
  });

export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}
