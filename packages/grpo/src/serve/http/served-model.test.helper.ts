import { realpathSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { onTestFinished } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { writeTinyModel } from '../../library/tiny-model.js';
import { type LoadedModel, loadModel } from '../../models/index.js';
import { ServeEngine } from '../engine.js';
import { type HttpOptions, type HttpServer, serveHttp } from './serve-http.js';

/** What a server answered. */
export interface Answered {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  json: any;
}

export interface Served {
  url: string;
  port: number;
  engine: ServeEngine;
  model: LoadedModel;
  server: HttpServer;
  /** What the people at the server were told. */
  lines: string[];
  get(path: string, init?: RequestInit): Promise<Answered>;
  post(path: string, body?: object | string, init?: RequestInit): Promise<Answered>;
}

/** A tiny model that is served until the current test ends: 64 places, every byte a token. */
export async function servedModel(options: Partial<HttpOptions> = {}): Promise<Served> {
  const folder = tempFolder();
  const path = `${folder}/model`;
  await writeTinyModel(path, { maxLength: 64, hiddenSize: 16, heads: 2, layers: 1, intermediateSize: 32 });
  const model = loadModel(path, { dtype: 'float32' });
  const engine = new ServeEngine(model, { name: 'tiny', memoryBytes: 2 ** 26 });
  const lines: string[] = [];
  const server = await serveHttp(engine, {
    name: 'tiny',
    folder: path,
    weightFolders: [realpathSync(tmpdir())],
    log: (line) => lines.push(line),
    host: '127.0.0.1',
    port: 0,
    ...options,
  });
  onTestFinished(async () => {
    engine[Symbol.dispose]();
    await server.close(1000);
    model.decoder.dispose();
  });
  const ask = async (at: string, init?: RequestInit): Promise<Answered> => {
    const answer = await fetch(server.url + at, init);
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json');
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      json: isJson ? JSON.parse(text) : undefined,
    };
  };
  return {
    url: server.url,
    port: Number(new URL(server.url).port),
    engine,
    model,
    server,
    lines,
    get: ask,
    post: (at, body = {}, init = {}) =>
      ask(at, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), ...init }),
  };
}

/** The events of a stream's text, without the last one. @throws where it does not end with that */
// biome-ignore lint/suspicious/noExplicitAny: any JSON
export function eventsIn(text: string): any[] {
  const events = text.split('\n\n').map((event) => event.replace(/^data: /, ''));
  if (events.at(-1) !== '' || events.at(-2) !== '[DONE]') throw new Error(`not ended: ${text.slice(-200)}`);
  return events.slice(0, -2).map((event) => JSON.parse(event));
}

/** The status of a request with these headers, which `fetch` does not let one set. */
export function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode!);
    });
    asked.on('error', reject);
    asked.end();
  });
}
