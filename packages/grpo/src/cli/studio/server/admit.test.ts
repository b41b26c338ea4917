import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { folderOf } from '../../../formats/temp-folder.test.helper.js';
import { addressOf } from '../../../http/address.js';
import { HEADERS } from './headers.js';
import { PAGE, type RawAnswer, rawGet, sendRaw, serve } from './studio-server.test.helper.js';

const GOOD = 'GET / HTTP/1.1';

/** A request of the page with other header lines; PORT stands for the server's. */
async function statusWith(line: string, ...headers: string[]): Promise<number> {
  const { port } = await serve([folderOf({ a: '1' })]);
  const lines = [line, ...headers, 'Connection: close'].map((text) => text.replaceAll('PORT', String(port)));
  return (await sendRaw(port, `${lines.join('\r\n')}\r\n\r\n`)).status;
}

describe('the name that a request asks', () => {
  it.each(['Host: 127.0.0.1:PORT', 'host: localhost:PORT', 'HOST:127.0.0.1:PORT  '])('%s', async (host) => {
    expect(await statusWith(GOOD, host)).toBe(200);
  });

  it.each([
    'Host: evil.example:PORT',
    'Host: 127.0.0.1',
    'Host: 127.0.0.1:1PORT',
    'Host: 127.0.0.1:PORT.evil.example',
    'Host: localhost.evil.example:PORT',
    'Host: 127.0.0.1.nip.io:PORT',
    'Host: 0.0.0.0:PORT',
    'Host: [::1]:PORT',
    'Host: [::ffff:127.0.0.1]:PORT',
    'Host: 127.1:PORT',
    'Host: 2130706433:PORT',
    'Host: 0x7f.0.0.1:PORT',
    'Host: 127.0.0.2:PORT',
    'Host: LOCALHOST:PORT',
    'Host: localhost.:PORT',
    'Host: user@127.0.0.1:PORT',
    'Host: http://127.0.0.1:PORT',
    'Host: 127.0.0.1:PORT, evil.example',
    'Host: 127.0.0.1:PORT/',
    'Host: 127.0.0.1 :PORT',
    'Host:',
    'X-Forwarded-Host: 127.0.0.1:PORT',
  ])('%s is refused', async (host) => {
    expect(await statusWith(GOOD, host)).toBe(421);
  });

  it('is there once', async () => {
    expect(await statusWith(GOOD, 'Host: 127.0.0.1:PORT', 'Host: evil.example')).toBe(421);
    expect(await statusWith(GOOD, 'Host: evil.example', 'Host: 127.0.0.1:PORT')).toBe(421);
    expect(await statusWith(GOOD, 'Host: 127.0.0.1:PORT', 'Host: 127.0.0.1:PORT')).toBe(421);
  });

  it('is not taken from the line of the request', async () => {
    expect(await statusWith('GET http://127.0.0.1:PORT/ HTTP/1.1', 'Host: evil.example')).toBe(421);
    expect(await statusWith('GET http://127.0.0.1:PORT/ HTTP/1.1', 'Host: 127.0.0.1:PORT')).toBe(404);
  });
});

describe('the site that asks', () => {
  const HOST = 'Host: 127.0.0.1:PORT';

  it.each([
    [],
    ['Origin: http://127.0.0.1:PORT'],
    ['Sec-Fetch-Site: same-origin', 'Sec-Fetch-Mode: cors'],
    ['Sec-Fetch-Site: none', 'Sec-Fetch-Mode: navigate'],
    ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'],
  ])('may be the page itself, and any may link to it: %s %s', async (...headers) => {
    expect(await statusWith(GOOD, HOST, ...headers)).toBe(200);
  });

  it.each([
    ['Origin: http://evil.example'],
    ['Origin: null'],
    ['Origin:'],
    ['Origin: http://localhost:PORT'],
    ['Origin: https://127.0.0.1:PORT'],
    ['Origin: http://127.0.0.1'],
    ['Origin: http://127.0.0.1:PORT.evil.example'],
    ['Origin: http://127.0.0.1:PORT/'],
    ['Origin: HTTP://127.0.0.1:PORT'],
    ['Origin: http://127.0.0.1:PORT http://evil.example'],
    ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: no-cors'],
    ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: cors'],
    ['Sec-Fetch-Site: same-site', 'Sec-Fetch-Mode: no-cors'],
    ['Sec-Fetch-Site: cross-site'],
  ])('is refused as %s %s', async (...headers) => {
    expect(await statusWith(GOOD, HOST, ...headers)).toBe(403);
  });

  it.each(['/api/list?path=/', '/api/file?path=/a', '/api/events'])('may not link to %s', async (target) => {
    const headers = ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate'];
    expect(await statusWith(`GET ${target} HTTP/1.1`, HOST, ...headers)).toBe(403);
  });
});

describe('a request', () => {
  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'PURGE'])(
    'with %s is refused',
    async (method) => {
      const { port } = await serve([folderOf({ a: '1' })]);
      const { status, head } = await sendRaw(
        port,
        `${method} /api/list?path=/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`,
      );
      // Of methods that Node's parser does not know, it says itself that the request is none.
      expect([405, 400]).toContain(status);
      if (status === 405) expect(head).toContain('allow: GET, HEAD');
    },
  );

  it('has no body', async () => {
    const host = 'Host: 127.0.0.1:PORT';
    expect(await statusWith(GOOD, host, 'Content-Length: 5')).toBe(413);
    expect(await statusWith(GOOD, host, 'Transfer-Encoding: chunked')).toBe(413);
    expect(await statusWith(GOOD, host, 'Content-Length: 0')).toBe(200);
  });

  it('is no tunnel', async () => {
    expect(await statusWith('CONNECT 127.0.0.1:22 HTTP/1.1', 'Host: 127.0.0.1:PORT')).toBe(405);
  });
});

describe('an answer', () => {
  const expectHeaders = ({ head, status }: RawAnswer, expected: number) => {
    expect(status).toBe(expected);
    const lines = head.toLowerCase().split('\r\n');
    for (const [name, value] of Object.entries(HEADERS))
      expect(lines).toContain(`${name}: ${value}`.toLowerCase());
    expect(lines.some((line) => line.startsWith('access-control-'))).toBe(false);
    expect(lines.some((line) => line.startsWith('server:') || line.startsWith('x-powered-by'))).toBe(false);
  };

  it('has the same headers, whatever it says', async () => {
    const { port } = await serve([folderOf({ 'run/a': '1' })]);
    const list = `/api/list?path=/`;
    const name = (await rawGet(port, list)).body.toString().match(/"name":"([^"]+)"/)![1];
    const range = (value: string) => `Range: ${value}`;
    expectHeaders(await rawGet(port, '/'), 200);
    expectHeaders(await rawGet(port, '/page.js'), 200);
    expectHeaders(await rawGet(port, '/page.css'), 200);
    expectHeaders(await rawGet(port, list), 200);
    expectHeaders(await rawGet(port, `/api/file?path=/${name}/run/a`), 200);
    expectHeaders(await rawGet(port, `/api/file?path=/${name}/run/a`, range('bytes=0-0')), 206);
    expectHeaders(await rawGet(port, `/api/file?path=/${name}/run/a`, range('bytes=9-')), 416);
    expectHeaders(await rawGet(port, '/nothing'), 404);
    expectHeaders(await rawGet(port, '/api/file'), 400);
    expectHeaders(await rawGet(port, '/', 'Origin: null'), 403);
    expectHeaders(await rawGet(port, '/', 'Expect: the-unexpected'), 200);
    const host = `Host: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;
    expectHeaders(await sendRaw(port, `HEAD /api/events HTTP/1.1\r\n${host}`), 200);
    expectHeaders(await sendRaw(port, `POST / HTTP/1.1\r\n${host}`), 405);
    expectHeaders(await sendRaw(port, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'), 421);
    expectHeaders(await sendRaw(port, 'nonsense\r\n\r\n'), 400);
    expectHeaders(await sendRaw(port, `GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n${host}`), 431);
    const secret = await serve([folderOf({ a: '1' })], { needsToken: true });
    expectHeaders(await rawGet(secret.port, '/'), 401);
  });

  it('allows nothing from elsewhere and no code within the page', () => {
    expect(HEADERS['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; worker-src blob:; " +
        "img-src data: 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
  });
});

describe('the token', () => {
  const cookieOf = (answer: Response) => answer.headers.get('set-cookie')!.split(';')[0]!;

  it('comes with the printed link, becomes a cookie, and opens every path', async () => {
    const server = await serve([folderOf({ a: '1' })], { needsToken: true });
    const { search } = new URL(server.url);
    const first = await server.get(search);
    expect(first.status).toBe(200);
    expect(first.headers.get('refresh')).toBe('0; url=/');
    expect(first.headers.get('set-cookie')).toMatch(
      new RegExp(`^grpo-studio-${server.port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`),
    );
    const headers = { cookie: `other=1; ${cookieOf(first)}` };
    expect(await (await server.get('', { headers })).text()).toBe(PAGE.html);
    expect((await server.get('api/list?path=/', { headers })).status).toBe(200);
  });

  it('differs from server to server, and is that of its port only', async () => {
    const [one, other] = [await serve(['.'], { needsToken: true }), await serve(['.'], { needsToken: true })];
    expect(new URL(one.url).search).not.toBe(new URL(other.url).search);
    const cookie = cookieOf(await one.get(new URL(one.url).search));
    expect((await other.get('', { headers: { cookie } })).status).toBe(401);
    const renamed = cookie.replace(String(one.port), String(other.port));
    expect((await other.get('', { headers: { cookie: renamed } })).status).toBe(401);
  });

  it.each(['', 'page.js', 'page.css', 'api/list?path=/', 'api/file?path=/a', 'api/events', 'nothing'])(
    'is needed for /%s',
    async (path) => {
      const server = await serve(['.'], { needsToken: true });
      const token = new URL(server.url).searchParams.get('token')!;
      const name = `grpo-studio-${server.port}`;
      const refused = [
        undefined,
        '',
        `${name}=`,
        `${name}=${token.slice(0, -1)}`,
        `${name}=${token}x`,
        `${name}=${token.toUpperCase()}`,
        `${name}="${token}"`,
        `x${name}=${token}`,
        `${name.toUpperCase()}=${token}`,
        `${name} =${token}`,
        token,
        `${name}=%00`,
        `${name}=é`,
      ];
      for (const cookie of refused) {
        const target = path === '' ? '/' : `/${path}`;
        const lines = cookie === undefined ? [] : [`Cookie: ${cookie}`];
        expect((await rawGet(server.port, target, ...lines)).status, cookie).toBe(401);
      }
      if (path === '') return;
      // It is taken at the root only.
      const separator = path.includes('?') ? '&' : '?';
      expect((await server.get(`${path}${separator}token=${token}`)).status).toBe(401);
      expect((await server.get(path, { headers: { authorization: `Bearer ${token}` } })).status).toBe(401);
    },
  );

  it('is refused when it is wrong, twice there, or empty', async () => {
    const server = await serve(['.'], { needsToken: true });
    const token = new URL(server.url).searchParams.get('token')!;
    for (const query of [
      '?token=',
      `?token=${token}x`,
      `?token=x&token=${token}`,
      `?token=${token}&token=x`,
      `?Token=${token}`,
      '?token',
    ])
      expect((await server.get(query)).status, query).toBe(401);
  });

  it('is needed for every address but loopback', async () => {
    const isLoopback = async (host: string) => (await addressOf(host)).isLoopback;
    expect(await isLoopback('127.0.0.1')).toBe(true);
    expect(await isLoopback('127.8.9.1')).toBe(true);
    expect(await isLoopback('::1')).toBe(true);
    expect(await isLoopback('localhost')).toBe(true);
    expect(await isLoopback('0.0.0.0')).toBe(false);
    expect(await isLoopback('::')).toBe(false);
    expect(await isLoopback('192.168.1.7')).toBe(false);
    expect(await isLoopback('::ffff:192.168.1.7')).toBe(false);
    expect(await isLoopback('128.0.0.1')).toBe(false);
    const server = await serve(['.'], { host: '0.0.0.0' });
    expect(server.isSecret).toBe(true);
    expect((await rawGet(server.port, '/')).status).toBe(401);
  });

  it('on all addresses, the names of this machine are known', async () => {
    const { names } = await addressOf('0.0.0.0');
    expect(names).toContain('127.0.0.1');
    expect(names).toContain(hostname().toLowerCase());
    expect(names).not.toContain('0.0.0.0');
    expect((await addressOf('::1')).names).toEqual(['[::1]', 'localhost']);
    await expect(addressOf('no-such-host.invalid')).rejects.toThrow(
      '--host no-such-host.invalid has no address',
    );
  });
});
