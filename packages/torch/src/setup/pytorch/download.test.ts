import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../libtorch.test.helper.js';
import { download } from './download.js';
import { sendAndDrop, sendFile, serve } from './server.test.helper.js';

const content = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * i) % 251));
const sha256 = createHash('sha256').update(content).digest('hex');

let file: string;
let said: string[];

beforeEach(() => {
  file = join(temporaryFolder(), 'part');
  said = [];
  for (const name of ['HTTPS_PROXY', 'https_proxy']) vi.stubEnv(name, undefined);
});
afterEach(() => vi.unstubAllEnvs());

const sizeOfPart = () => statSync(file, { throwIfNoEntry: false })?.size;

const get = (url: string, silence = 5_000) =>
  download(`${url}/wheel`, file, { sha256, say: (line) => said.push(line), silence, pauses: [1, 1, 1] });

describe('download', () => {
  it('gets a file that comes in pieces', async () => {
    await using server = await serve(async (_, response) => {
      response.writeHead(200, { 'content-length': content.length });
      for (let at = 0; at < content.length; at += 20_000) {
        response.write(content.subarray(at, at + 20_000));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      response.end();
    });
    expect(await get(server.url)).toBeUndefined();
    expect(readFileSync(file)).toEqual(content);
  });

  it('goes on where a dropped connection stopped, however often', async () => {
    await using server = await serve((request, response) => {
      const from = Number(request.headers.range?.match(/\d+/)?.[0] ?? 0);
      if (from > 80_000) return sendFile(request, response, content);
      response.writeHead(from > 0 ? 206 : 200, {
        'content-length': content.length - from,
        'content-range': `bytes ${from}-${content.length - 1}/${content.length}`,
      });
      sendAndDrop(response, content.subarray(from, from + 15_000), () => sizeOfPart() === from + 15_000);
    });
    expect(await get(server.url)).toBeUndefined();
    expect(readFileSync(file)).toEqual(content);
    // Six drops, more than there are pauses: a try that brought something does not count as failed.
    expect(server.asked).toEqual(['/wheel', ...[15, 30, 45, 60, 75, 90].map((k) => `/wheel bytes=${k}000-`)]);
    const stops = said.filter((line) => line.startsWith('The download stopped'));
    expect(stops).toHaveLength(6);
    expect(stops.join()).not.toMatch(/UND_|undefined/);
  });

  it('starts over where the server knows no ranges', async () => {
    writeFileSync(file, content.subarray(0, 40_000));
    await using server = await serve((_, response) => response.end(content));
    expect(await get(server.url)).toBeUndefined();
    expect(readFileSync(file)).toEqual(content);
  });

  it('is content with a part that was whole already', async () => {
    writeFileSync(file, content);
    await using server = await serve((request, response) => sendFile(request, response, content));
    expect(await get(server.url)).toBeUndefined();
    expect(server.asked).toEqual(['/wheel bytes=100000-']);
  });

  it('starts over once when what an earlier run left was torn', async () => {
    writeFileSync(file, Buffer.alloc(40_000));
    await using server = await serve((request, response) => sendFile(request, response, content));
    expect(await get(server.url)).toBeUndefined();
    expect(server.asked).toEqual(['/wheel bytes=40000-', '/wheel']);
    expect(readFileSync(file)).toEqual(content);
  });

  it('starts over when the part is longer than the file', async () => {
    writeFileSync(file, Buffer.alloc(200_000));
    await using server = await serve((request, response) => sendFile(request, response, content));
    expect(await get(server.url)).toBeUndefined();
    expect(readFileSync(file)).toEqual(content);
  });

  it('refuses and deletes a file of another checksum', async () => {
    const other = Buffer.from('another file');
    await using server = await serve((request, response) => sendFile(request, response, other));
    const found = createHash('sha256').update(other).digest('hex');
    expect(await get(server.url)).toEqual({
      why: `${server.url}/wheel has the SHA-256 ${found}, but ${sha256} is expected; it was deleted`,
    });
    expect(existsSync(file)).toBe(false);
  });

  it('gives up on a server that promises more than it has, and keeps the part', async () => {
    await using server = await serve((request, response) => {
      const from = Number(request.headers.range?.match(/\d+/)?.[0] ?? 0);
      response.writeHead(from > 0 ? 206 : 200, {
        'content-length': 2 * content.length - from,
        'content-range': `bytes ${from}-${2 * content.length - 1}/${2 * content.length}`,
      });
      sendAndDrop(response, content.subarray(from), () => sizeOfPart() === content.length);
    });
    expect(await get(server.url)).toEqual({ why: expect.stringContaining('stopped sending') });
    expect(server.asked).toHaveLength(4);
    expect(readFileSync(file)).toEqual(content);
  });

  it('finds out a server that promises less than the file has', async () => {
    await using server = await serve((_, response) => {
      response.writeHead(200, { 'content-length': 10 });
      response.end(content.subarray(0, 10));
    });
    expect(await get(server.url)).toEqual({ why: expect.stringContaining('has the SHA-256') });
  });

  it('does not wait for ever', async () => {
    await using server = await serve((_, response) => {
      response.writeHead(200, { 'content-length': content.length });
      response.write(content.subarray(0, 10));
    });
    expect(await get(server.url, 50)).toEqual({ why: expect.stringMatching(/sent nothing for 0.05 s$/) });
  });

  it('does not ask again for what is not there', async () => {
    await using server = await serve((_, response) => response.writeHead(404).end());
    expect(await get(server.url)).toEqual({ why: `${server.url}/wheel answers 404 Not Found` });
    expect(server.asked).toHaveLength(1);
  });

  it('asks a server again that has a bad moment', async () => {
    let times = 0;
    await using server = await serve((request, response) => {
      if (times++ === 0) response.writeHead(503).end();
      else sendFile(request, response, content);
    });
    expect(await get(server.url)).toBeUndefined();
    expect(said[0]).toBe(
      `The download stopped at 0 MB (${server.url}/wheel answers 503 Service Unavailable); trying again.`,
    );
  });

  it('says that nobody answers, and what a proxy needs', async () => {
    const { url } = await serve(() => {}).then(async (server) => {
      await server[Symbol.asyncDispose]();
      return server;
    });
    expect(await get(url)).toEqual({
      why: `${new URL(url).host} cannot be reached: ECONNREFUSED`,
    });
    vi.stubEnv('HTTPS_PROXY', 'http://proxy');
    expect(await get(url)).toMatchObject({ why: expect.stringContaining('NODE_USE_ENV_PROXY=1') });
  });
});
