import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderOf } from '../../../formats/temp-folder.test.helper.js';
import { givenPaths } from '../given-paths.js';
import { openFiles, sendRaw, serve, until } from './studio-server.test.helper.js';

const DIGITS = '0123456789';

describe('a list', () => {
  it('at the root has the given paths, each under a name of its own', async () => {
    const folder = folderOf({ 'a/run/x': '1', 'b/run/y': '22', 'log.jsonl': '333' });
    const paths = ['a/run', 'b/run', 'log.jsonl', 'a/run/'].map((path) => join(folder, path));
    const { list, file } = await serve(paths);
    expect(await list('/')).toEqual([
      { name: 'run', isFolder: true, size: 0, modified: expect.any(Number) },
      { name: 'run-2', isFolder: true, size: 0, modified: expect.any(Number) },
      { name: 'log.jsonl', isFolder: false, size: 3, modified: expect.any(Number) },
    ]);
    expect(await list('/run-2')).toMatchObject([{ name: 'y', isFolder: false, size: 2 }]);
    expect(await (await file('/log.jsonl')).text()).toBe('333');
    expect(await (await file('/run/x')).text()).toBe('1');
  });

  it('is by name, and 404 where there is no folder', async () => {
    const folder = folderOf({ 'run/b': '', 'run/a/x': '', 'run/.c': '' });
    const { list, get } = await serve([join(folder, 'run')]);
    expect((await list('/run')).map(({ name }) => name)).toEqual(['.c', 'a', 'b']);
    for (const path of ['/run/none', '/run/b', '/none', '/run/b/x'])
      expect((await get(`api/list?path=${path}`)).status, path).toBe(404);
  });

  it('names the folder in which the command is run', () => {
    expect(givenPaths(['.'])).toEqual([{ name: basename(process.cwd()), path: process.cwd() }]);
    expect(givenPaths(['/'])).toEqual([{ name: 'root', path: '/' }]);
    expect(() => givenPaths(['/dev/null'])).toThrow('/dev/null is neither a file nor a folder');
    expect(() => givenPaths(['/none'])).toThrow('cannot read /none: there is no such file');
  });
});

describe('a file', () => {
  it('comes whole, with its size and no type that a browser would run', async () => {
    const server = await serve([join(folderOf({ 'r/x.html': '<script>' }), 'r')]);
    const answer = await server.file('/r/x.html');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(answer.headers.get('content-length')).toBe('8');
    expect(answer.headers.get('accept-ranges')).toBe('bytes');
    expect(await answer.text()).toBe('<script>');
  });

  it('comes in parts', async () => {
    const server = await serve([join(folderOf({ 'r/x': DIGITS }), 'r')]);
    const part = async (range: string) => {
      const answer = await server.file('/r/x', { headers: { range } });
      return [answer.status, answer.headers.get('content-range'), await answer.text()];
    };
    expect(await part('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234']);
    expect(await part('bytes=7-')).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await part('bytes=-3')).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await part('bytes=0-99')).toEqual([206, 'bytes 0-9/10', DIGITS]);
    expect(await part('items=0-1')).toEqual([200, null, DIGITS]);
    expect((await part('bytes=10-')).slice(0, 2)).toEqual([416, 'bytes */10']);
    expect((await part('bytes=0-1,3-4')).slice(0, 2)).toEqual([416, 'bytes */10']);
  });

  it('comes whole where the part depends on a version that is not told', async () => {
    const server = await serve([join(folderOf({ 'r/x': DIGITS }), 'r')]);
    const headers = { range: 'bytes=0-1', 'if-range': '"some"' };
    const answer = await server.file('/r/x', { headers });
    expect([answer.status, await answer.text()]).toEqual([200, DIGITS]);
  });

  it('HEAD tells of it without the bytes, and knows no ranges', async () => {
    const server = await serve([join(folderOf({ 'r/x': DIGITS }), 'r')]);
    const answer = await server.file('/r/x', { method: 'HEAD', headers: { range: 'bytes=0-1' } });
    expect([answer.status, answer.headers.get('content-length'), await answer.text()]).toEqual([
      200,
      '10',
      '',
    ]);
    for (const path of ['', 'page.js', 'api/list?path=/'])
      expect(await (await server.get(path, { method: 'HEAD' })).text(), path).toBe('');
  });

  it('of 3 GB gives its last bytes without being read', async () => {
    const folder = folderOf({ 'r/big': '' });
    const path = join(folder, 'r/big');
    truncateSync(path, 3 * 2 ** 30 - 5);
    appendFileSync(path, 'tail!');
    const server = await serve([join(folder, 'r')]);
    const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
    const before = bytesRead();
    const answer = await server.file('/r/big', { headers: { range: 'bytes=-5' } });
    expect([answer.status, await answer.text()]).toEqual([206, 'tail!']);
    expect(answer.headers.get('content-range')).toBe('bytes 3221225467-3221225471/3221225472');
    expect(bytesRead() - before).toBeLessThan(1e6);
  });

  it('that grows gives what it had', async () => {
    const folder = folderOf({ 'r/log': Buffer.alloc(4_000_000, 'a') });
    const server = await serve([join(folder, 'r')]);
    const answer = await server.file('/r/log');
    appendFileSync(join(folder, 'r/log'), 'bbb');
    expect((await answer.arrayBuffer()).byteLength).toBe(4_000_000);
    expect((await (await server.file('/r/log')).arrayBuffer()).byteLength).toBe(4_000_003);
  });

  it('that is cut while it is sent breaks the answer off', async () => {
    const folder = folderOf({ 'r/log': '' });
    const path = join(folder, 'r/log');
    truncateSync(path, 2 ** 30);
    const server = await serve([join(folder, 'r')]);
    // The rest is not read yet: the buffers between the two ends are smaller than the file.
    const answer = await server.file('/r/log');
    truncateSync(path, 100);
    await expect(answer.arrayBuffer()).rejects.toThrow();
    expect(server.reports).toEqual([]);
    expect(await (await server.file('/r/log')).text()).toHaveLength(100);
  });

  it('that is written under another name and renamed is always there, old or new', async () => {
    const folder = folderOf({ 'r/x': 'old' });
    const server = await serve([join(folder, 'r')]);
    let isDone = false;
    const seen = new Set<string>();
    const asking = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!isDone) seen.add((await (await server.file('/r/x')).text()).slice(0, 3));
      }),
    );
    for (let i = 0; i < 300; i++) {
      writeFileSync(join(folder, 'r/y'), `new ${i}`);
      renameSync(join(folder, 'r/y'), join(folder, 'r/x'));
      await new Promise(setImmediate);
    }
    isDone = true;
    await asking;
    expect([...seen].filter((text) => text !== 'old')).toEqual(['new']);
  });

  it('is closed when nobody reads on', async () => {
    const folder = folderOf({ 'r/big': '' });
    truncateSync(join(folder, 'r/big'), 2 ** 30);
    const server = await serve([join(folder, 'r')]);
    const isOpen = () => openFiles().some((path) => path.endsWith('/r/big'));
    const stop = new AbortController();
    await server.file('/r/big', { signal: stop.signal });
    expect(isOpen()).toBe(true);
    stop.abort();
    await until(() => !isOpen());
    expect(server.reports).toEqual([]);
  });

  it('is the same file by a link within the given paths', async () => {
    const folder = folderOf({ 'r/step-2/x': '2', 's/y': 'other' });
    symlinkSync('step-2', join(folder, 'r/latest'));
    symlinkSync('../s', join(folder, 'r/s'));
    const server = await serve([join(folder, 'r'), join(folder, 's')]);
    expect(await (await server.file('/r/latest/x')).text()).toBe('2');
    expect(await (await server.file('/r/s/y')).text()).toBe('other');
    expect((await server.list('/r')).map(({ name, isFolder }) => [name, isFolder])).toEqual([
      ['latest', true],
      ['s', true],
      ['step-2', true],
    ]);
  });
});

it.skipIf(process.getuid?.() === 0)('what the system forbids is refused with words', async () => {
  const folder = folderOf({ 'r/x': '1' });
  mkdirSync(join(folder, 'r/closed'), { mode: 0 });
  const server = await serve([join(folder, 'r')]);
  expect((await server.get('api/list?path=/r/closed')).status).toBe(403);
});

it('several requests share a connection', async () => {
  const { port } = await serve([join(folderOf({ 'r/x': DIGITS }), 'r')]);
  const request = (target: string, more = '') =>
    `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${more}\r\n`;
  const both = request('/api/file?path=/r/x', 'Range: bytes=0-1\r\n') + request('/nothing');
  const { body } = await sendRaw(port, both + request('/page.js', 'Connection: close\r\n'));
  const text = body.toString();
  expect(text).toMatch(/^01HTTP\/1.1 404 Not Found\r\n.*HTTP\/1.1 200 OK\r\n.*let page;$/s);
});

it('lists the folders in a folder with it, and none outside', async () => {
  const folder = folderOf({ 'r/a/steps/1/x': '1', 'r/b/x': '1', 'other/x': '1' });
  symlinkSync(join(folder, 'other'), join(folder, 'r', 'elsewhere'));
  const server = await serve([join(folder, 'r')]);
  const answer = await server.get('api/list?path=/r');
  const lists = (await answer.json()) as Record<string, { name: string }[]>;
  const names = Object.entries(lists).map(([path, entries]) => [path, entries.map(({ name }) => name)]);
  expect(names).toEqual([
    ['/r', ['a', 'b']],
    ['/r/a', ['steps']],
    ['/r/b', ['x']],
  ]);
});
