import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import {
  blobs,
  expectNoModel,
  expectWhole,
  FILES,
  fetchInto,
  gitHash,
  isWeights,
  partials,
  refusalOf,
  WEIGHTS,
} from './fetch.test.helper.js';
import { hubServer, sendFile } from './hub-server.test.helper.js';

describe('a server that lies', () => {
  /** A server that sends these bytes for the weights, however they are asked for, with any length in its header. */
  const sending = (data: Buffer, length?: number) => (request: IncomingMessage, response: ServerResponse) => {
    if (!isWeights(request)) return false;
    if (length === undefined) sendFile(request, response, data);
    else {
      response.writeHead(200, { 'content-length': length });
      response.write(data.subarray(0, length));
      if (length > data.length) setTimeout(() => response.destroy(), 20);
      else response.end();
    }
    return true;
  };
  const endless = (request: IncomingMessage, response: ServerResponse) => {
    if (!isWeights(request)) return false;
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', more).write(WEIGHTS);
    more();
    return true;
  };
  const wrong = Buffer.from(WEIGHTS).fill(0, 1000, 1001);

  it.each([
    ['a length that is too large, and hangs up', sending(WEIGHTS, WEIGHTS.length + 500)],
    ['more than the file', sending(Buffer.concat([WEIGHTS, Buffer.from('more')]))],
    ['a file without end', endless],
  ])('with %s does no harm', async (_, fault) => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.fault = fault;
    await fetchInto(cache, hub);
    expectWhole(cache);
  });

  it.each([
    ['a length that is too small', sending(WEIGHTS, 300_000), /ended after 300000 of 400000 bytes/],
    ['less than the file', sending(WEIGHTS.subarray(0, 300_000)), /has no more bytes \(416\)/],
    ['wrong bytes', sending(wrong), /wrong bytes: their sha256 is [0-9a-f]{64}, not [0-9a-f]{64}$/],
  ])('with %s is found out', async (_, fault, message) => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.fault = fault;
    const refusal = await refusalOf(fetchInto(cache, hub));
    expect(refusal.message).toMatch(message);
    expect(refusal.hint).toMatch(/Run the command again/);
    expectNoModel(cache);
    hub.fault = undefined;
    await fetchInto(cache, hub);
    expectWhole(cache);
  });

  it('about a small file is found out too, by its git hash', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.fault = (request, response) => {
      if (!request.url!.endsWith('/config.json')) return false;
      response.end('{"model_type":"llama"}');
      return true;
    };
    const { message } = await refusalOf(fetchInto(cache, hub));
    const hash = gitHash('{"model_type":"llama"}').slice(0, 40);
    expect(message).toContain(
      `config.json of some/model arrived with the wrong bytes: their git-sha1 is ${hash}`,
    );
    expect(blobs(cache)).not.toContain(gitHash(FILES['config.json']));
    expect(partials(cache)).toEqual([]);
  });

  it('in its list about a size is found out', async () => {
    const sha = createHash('sha256').update(WEIGHTS).digest('hex');
    for (const size of [399_000, 401_000]) {
      const cache = tempFolder();
      const hub = await hubServer(FILES);
      hub.lies.set('model.safetensors', { lfs: { oid: sha, size } });
      expect((await refusalOf(fetchInto(cache, hub))).message).toMatch(
        size < 400_000 ? /wrong bytes/ : /no more bytes/,
      );
      expectNoModel(cache);
    }
  });

  it('cannot make a file outside the cache', async () => {
    const cache = tempFolder();
    for (const lie of [
      { path: '../../config.json' },
      { path: '/config.json' },
      { oid: '../config' },
      { size: -1 },
    ]) {
      const hub = await hubServer(FILES);
      hub.lies.set('config.json', lie);
      await expect(fetchInto(cache, hub)).rejects.toThrow(/outside its folder|not a hub's/);
    }
    expect(readdirSync(cache)).toEqual([]);
  });

  it('or is none, is told', async () => {
    const hub = await hubServer(FILES);
    hub.fault = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Log in</h1>');
      return true;
    };
    const { message, hint } = await refusalOf(fetchInto(tempFolder(), hub));
    expect(message).toBe(`the answer of ${hub.endpoint} is not a hub's`);
    expect(hint).toContain('a login page');
  });
});
