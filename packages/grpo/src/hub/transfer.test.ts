import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import {
  connectionTo,
  expectNoModel,
  expectWhole,
  FILES,
  fetchInto,
  isWeights,
  partials,
  refusalOf,
  WEIGHTS,
} from './fetch.test.helper.js';
import { hubServer } from './hub-server.test.helper.js';

describe('a bad connection', () => {
  const half = WEIGHTS.length / 2;
  /** Sends what is asked for up to a byte, then does as told. */
  const upTo = (end: number, then: (response: ServerResponse) => void) =>
    function cut(request: IncomingMessage, response: ServerResponse): void {
      const start = Number(/\d+/.exec(request.headers.range ?? '')?.[0] ?? 0);
      const range = { 'content-range': `bytes ${start}-${WEIGHTS.length - 1}/${WEIGHTS.length}` };
      response.writeHead(start > 0 ? 206 : 200, {
        'content-length': WEIGHTS.length - start,
        ...(start > 0 && range),
      });
      response.write(WEIGHTS.subarray(start, end), () => then(response));
    };
  const drop = (response: ServerResponse) => response.destroy();

  // What counts as silence is short only where it is tested: a busy machine is silent for that long, too.
  it.each([
    ['drops', drop, { stallSeconds: 10 }, 2],
    ['falls silent', () => {}, { stallSeconds: 0.4, attempts: 1000 }, undefined],
  ])('that %s is made anew, and goes on where it was', async (_, then, patience, breaks) => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.fault = (request, response, count) => {
      if (!isWeights(request) || count > 2) return false;
      upTo(count * 150_000, then)(request, response);
      return true;
    };
    const connection = connectionTo(hub, patience);
    await fetchInto(cache, hub, { connection });
    expectWhole(cache);
    const ranges = hub.askedForLarge
      .filter(({ url }) => url === '/model.safetensors')
      .map(({ range }) => range);
    expect(ranges[0]).toBeUndefined();
    expect(ranges.at(-1)).toMatch(/^bytes=\d{4,}-$/);
    expect(connection.notes.length).toBeGreaterThanOrEqual(2);
    expect(connection.notes[0]).toMatch(/(broke|sent nothing for 0\.4 s).*Trying again in 0\.001 s\.$/);
    if (breaks === undefined) return;
    expect(ranges).toHaveLength(breaks + 1);
    expect(connection.notes).toHaveLength(breaks);
  });

  it('that brings a little each time is not given up', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.fault = (request, response, count) => {
      if (!isWeights(request) || count > 8) return false;
      upTo(count * 45_000, drop)(request, response);
      return true;
    };
    await fetchInto(cache, hub);
    expectWhole(cache);
  });

  it('that is slow, but not silent, is waited for', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.fault = (request, response) => {
      if (!isWeights(request)) return false;
      response.writeHead(200, { 'content-length': WEIGHTS.length });
      let at = 0;
      const timer = setInterval(() => {
        response.write(WEIGHTS.subarray(at, at + 40_000));
        at += 40_000;
        if (at < WEIGHTS.length) return;
        clearInterval(timer);
        response.end();
      }, 60);
      return true;
    };
    await fetchInto(cache, hub);
    expectWhole(cache);
    expect(hub.askedForLarge.filter(({ url }) => url === '/model.safetensors')).toHaveLength(1);
  });

  it('that stays bad is an error, and the next fetch goes on', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.fault = (request, response) => {
      if (!isWeights(request)) return false;
      upTo(half, drop)(request, response);
      return true;
    };
    const { message, hint } = await refusalOf(fetchInto(cache, hub));
    expect(message).toMatch(/^the connection to http:\/\/127\.0\.0\.1:\d+ broke: /);
    expect(hint).toContain('what has been fetched is kept');
    expectNoModel(cache);
    expect(partials(cache)).toHaveLength(1);
    hub.fault = undefined;
    hub.askedForLarge.length = 0;
    await fetchInto(cache, hub);
    expectWhole(cache);
    expect(hub.askedForLarge.map(({ range }) => range)).toEqual([`bytes=${half}-`]);
  });

  it('to a server that cannot go on in the middle begins anew', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.fault = (request, response, count) => {
      if (!isWeights(request)) return false;
      if (count === 1) upTo(half, drop)(request, response);
      else response.writeHead(200, { 'content-length': WEIGHTS.length }).end(WEIGHTS);
      return true;
    };
    const received: number[] = [];
    await fetchInto(cache, hub, {
      watcher: { progress: ({ size }, to) => size === WEIGHTS.length && received.push(to) },
    });
    expectWhole(cache);
    // The bytes that have come are counted from the start again.
    expect(received.lastIndexOf(0)).toBeGreaterThan(received.indexOf(half));
  });

  it('to a server that sends another part than was asked for begins anew', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.fault = (request, response, count) => {
      if (!isWeights(request) || count > 2) return false;
      if (count === 1) upTo(half, drop)(request, response);
      else response.writeHead(206, { 'content-range': `bytes 5-9/${WEIGHTS.length}` }).end('wrong');
      return true;
    };
    await fetchInto(cache, hub);
    expectWhole(cache);
  });

  it('is asked again when the hub is busy', async () => {
    const cache = tempFolder();
    const hub = await hubServer(FILES);
    hub.fault = (request, response, count) => {
      if (count > 2 || !request.url!.startsWith('/api/')) return false;
      response.writeHead(count === 1 ? 429 : 503, { 'retry-after': '0' }).end();
      return true;
    };
    await fetchInto(cache, hub);
    expectWhole(cache);
    hub.fault = (_, response) => {
      response.writeHead(429, { 'retry-after': '0', 'x-error-message': 'slow down' }).end();
      return true;
    };
    const { message, hint } = await refusalOf(fetchInto(tempFolder(), hub));
    expect(message).toBe(
      '127.0.0.1 limits the number of requests (429: slow down)'.replace(
        '1 ',
        `1:${new URL(hub.endpoint).port} `,
      ),
    );
    expect(hint).toContain('HF_TOKEN');
  });
});
