/** Fetches from the hub of the tests, and what must be in the cache afterwards. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { UserError } from '../errors/user-error.js';
import type { Connection } from './connection.js';
import {
  type FetchRequest,
  type FetchWatcher,
  fetchRepository,
  type JudgeModel,
} from './fetch-repository.js';
import { COMMIT, type HubServer } from './hub-server.test.helper.js';
import { modelFolder } from './model-folder.js';

/** Bytes without a pattern, so that pieces in the wrong place show. */
export const WEIGHTS = Buffer.concat(
  Array.from({ length: 12_500 }, (_, i) => createHash('sha256').update(String(i)).digest()),
);
export const FILES = {
  'README.md': '# A model',
  'config.json': '{"model_type":"qwen2"}',
  'generation_config.json': '{}',
  'model.safetensors': WEIGHTS,
  'onnx/model.onnx': 'onnx',
  'onnx/config.json': '{}',
  'pytorch_model.bin': 'pickle',
  'tokenizer.json': `{"version":"1.0"${' '.repeat(2000)}}`,
  'tokenizer_config.json': '{}',
};
export const NEEDED = [
  'config.json',
  'generation_config.json',
  'model.safetensors',
  'tokenizer.json',
  'tokenizer_config.json',
];
export const ID = { kind: 'model', name: 'some/model' } as const;

export function connectionTo(
  { endpoint }: HubServer,
  more: Partial<Connection> = {},
): Connection & { notes: string[] } {
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  const quick = { stallSeconds: 10, attempts: 3, delaySeconds: 0.001 };
  return { endpoint, token: undefined, ...quick, note, notes, ...more };
}

export async function fetchInto(
  cache: string,
  hub: HubServer,
  more: {
    request?: Partial<FetchRequest>;
    connection?: Connection;
    watcher?: FetchWatcher;
    judge?: JudgeModel;
  } = {},
) {
  const request = { ...ID, revision: 'main', patterns: [], ...more.request };
  return fetchRepository(more.connection ?? connectionTo(hub), cache, request, more.watcher, more.judge);
}

/** How a fetch that must fail says it. */
export async function refusalOf(fetched: Promise<unknown>): Promise<{ message: string; hint: string }> {
  const error = await fetched.then(
    () => expect.fail('it succeeded'),
    (reason: UserError) => reason,
  );
  return { message: error.message, hint: error.hint ?? '' };
}

export const blobs = (cache: string) => readdirSync(join(cache, 'models--some--model/blobs')).sort();
export const partials = (cache: string) => blobs(cache).filter((name) => name.endsWith('.incomplete'));
export const isWeights = (request: IncomingMessage) => request.url === '/model.safetensors';
export const gitHash = (text: string) =>
  createHash('sha1').update(`blob ${text.length}\0${text}`).digest('hex');

/** Everything is there, and every byte is right. */
export function expectWhole(cache: string, commit = COMMIT): void {
  const folder = join(cache, 'models--some--model');
  const snapshot = join(folder, 'snapshots', commit);
  expect(readFileSync(join(folder, 'refs/main'), 'utf8')).toBe(commit);
  expect(readdirSync(snapshot).sort()).toEqual(NEEDED);
  for (const name of NEEDED) {
    expect(readFileSync(join(snapshot, name)).equals(Buffer.from(FILES[name as keyof typeof FILES]))).toBe(
      true,
    );
  }
  expect(partials(cache)).toEqual([]);
  expect(modelFolder('some/model', cache)).toBe(snapshot);
}

/** No weights, whole or in part, can be taken for a model. */
export function expectNoModel(cache: string): void {
  const folder = join(cache, 'models--some--model');
  expect(existsSync(join(folder, 'refs/main'))).toBe(false);
  expect(existsSync(join(folder, 'snapshots', COMMIT, 'model.safetensors'))).toBe(false);
  expect(() => modelFolder('some/model', cache)).toThrow('no model some/model');
  expect(() => modelFolder(`some/model@${COMMIT}`, cache)).toThrow('it lacks model.safetensors');
}
