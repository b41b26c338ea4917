import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { folderOf } from '../../../formats/temp-folder.test.helper.js';
import { openFiles, rawGet, type Served, serve } from './studio-server.test.helper.js';

const SECRET = 'the-secret-outside';

/** Names that a file may well have. */
const ODD = [
  'with space',
  '100%',
  '%',
  '%2e%2e',
  '%2F',
  '%00',
  'a#b',
  'a?b',
  'a&path=b',
  'a=b;c',
  'a+b',
  'quo\'te"s',
  '<img src=x onerror=alert(1)>',
  'ünïcödé',
  'e\u0301',
  '\u00e9',
  '日本語',
  '🙂',
  '\u202egpj.exe',
  '．．',
  '.hidden',
  '...',
  '..double',
  'dots..',
  'a..b',
  '~',
  '-rf',
  'C:',
  'CON',
  'line\nbreak',
  'tab\tstop',
  '\u001b[31mred',
  'x'.repeat(255),
  'é'.repeat(127),
];

let folder = '';
let server: Served;
beforeEach(async () => {
  folder = folderOf({
    'secret.txt': SECRET,
    'given-2/secret.txt': SECRET,
    'given/inside.txt': 'inside',
    'given/deep/er/x': 'x',
    ...Object.fromEntries(ODD.map((name) => [`given/odd/${name}`, `content of ${name}`])),
  });
  server = await serve([join(folder, 'given')]);
});

const get = (target: string) => rawGet(server.port, target);

/** Asks for a target as it stands, which must fail and give nothing away. */
async function expectRefused(target: string): Promise<void> {
  const { status, body } = await get(target);
  const where = JSON.stringify(target.slice(0, 200));
  expect(status, where).toBeGreaterThanOrEqual(400);
  expect(status, where).toBeLessThan(500);
  expect(body.toString(), where).not.toMatch(/the-secret-outside|secret\.txt|root:/);
}

const UP = [
  '..',
  '%2e%2e',
  '.%2e',
  '%2E.',
  '%252e%252e',
  '%25252e%25252e',
  '%c0%ae%c0%ae',
  '%e0%80%ae%e0%80%ae',
  '%f0%80%80%ae%f0%80%80%ae',
  '%u002e%u002e',
  '%ef%bc%8e%ef%bc%8e',
  '%e2%80%a5',
  '%00..',
  '..%00',
  '..%20',
  '%20..',
  '..+',
  '..;',
  '..%0a',
  '..%0d%0a',
  '..%09',
  '....',
  '.%00.',
  '..%ff',
];
const SLASHES = [
  '/',
  '%2f',
  '%252f',
  '\\',
  '%5c',
  '%255c',
  '%c0%af',
  '%e0%80%af',
  '%ef%bc%8f',
  '%e2%88%95',
  '//',
  '/./',
];

/** Ways up from the given folder to the file beside it. */
const climbs = UP.flatMap((up) => SLASHES.map((slash) => `/given${slash}${up}${slash}secret.txt`));

const PATHS = [
  ...climbs,
  // Deeper, longer, and half-way.
  '/given/deep/../../secret.txt',
  '/given/deep/er/../../../secret.txt',
  '/given/inside.txt/../../secret.txt',
  '/given/../given/../secret.txt',
  '/given/..',
  '/given/../',
  '/given/.',
  '/given/./inside.txt',
  '/given//inside.txt',
  '//given/inside.txt',
  '/given/inside.txt/',
  '/given/',
  '/..',
  '/../secret.txt',
  '/./given/inside.txt',
  '..',
  '../secret.txt',
  'given/inside.txt',
  '',
  '.',
  `/given${'/..'.repeat(40)}/etc/passwd`,
  // From the root of the disk, and of other systems.
  '/etc/passwd',
  '//etc/passwd',
  '/given//etc/passwd',
  '/given/%2fetc%2fpasswd',
  'file:///etc/passwd',
  'file:/etc/passwd',
  '/given/file:///etc/passwd',
  '/proc/self/environ',
  '/dev/stdin',
  'C:/Windows/win.ini',
  'C:%5cWindows%5cwin.ini',
  '%5c%5c127.0.0.1%5cc$%5csecret.txt',
  '/given/inside.txt::$DATA',
  '/given/inside.txt%3a%3a$DATA',
  '/given/INSID~1.TXT',
  // Almost the given folder.
  '/given-2/secret.txt',
  '/given-2',
  '/given%00-2/secret.txt',
  '/given%2d2/secret.txt',
  '/give/secret.txt',
  '/GIVEN/inside.txt',
  '/Given/inside.txt',
  '/given/INSIDE.TXT',
  '/given%20/inside.txt',
  '/%20given/inside.txt',
  '/given/inside.txt%20',
  '/given/inside.txt.',
  '/given/inside.txt%00',
  '/given/inside.txt%00.png',
  '/given/%00',
  '%00',
  '/given/inside%00.txt',
  '/g%c3%afven/inside.txt',
  '/ｇｉｖｅｎ/inside.txt',
  '/given/odd/e%cc%81%cc%81',
  '/given/%ff%fe',
  '/given/%ed%a0%80',
  '/given/%',
  '/given/%2',
  '/given/%zz',
  '/given/inside.txt%0d%0aX-Injected:%201',
  // Shells and templates.
  '~/secret.txt',
  '/given/~root',
  '/given/$HOME',
  '/given/$%7bHOME%7d/secret.txt',
  '/given/*',
  '/given/*.txt',
  '/given/[i]nside.txt',
  '/given/{inside,secret}.txt',
  // Longer than a name, than a path, and than many.
  `/given/${'a'.repeat(256)}`,
  `/given/${'a'.repeat(5000)}`,
  `/given${'/a'.repeat(4000)}`,
  `/given/${'%2e%2e%2f'.repeat(1000)}secret.txt`,
  `/given/${'../'.repeat(4000)}secret.txt`,
  // Links that lead out, by file, by folder, by detours; pipes, sockets, devices.
  '/given/link-out',
  '/given/link-absolute',
  '/given/link-sibling',
  '/given/chain',
  '/given/folder-out',
  '/given/folder-out/secret.txt',
  '/given/folder-out/given/inside-2.txt',
  '/given/folder-root/etc/passwd',
  '/given/proc/self/environ',
  '/given/loop',
  '/given/loop/x',
  '/given/dangling',
  '/given/pipe',
  '/given/socket',
  '/given/device',
  '/given/terminal',
];

/** Requests whose path is not in the query. */
const TARGETS = [
  '/secret.txt',
  '/../secret.txt',
  '/%2e%2e/secret.txt',
  '/..%2fsecret.txt',
  '/page.js/../../secret.txt',
  '/page.js%00',
  '/page.js/',
  '//page.js',
  '/PAGE.JS',
  '/page%2ejs',
  '/given/inside.txt',
  '/api',
  '/api/',
  '/api/file',
  '/api/file/',
  '/api/file?',
  '/api/file?path',
  '/api/file?PATH=/given/inside.txt',
  '/api/file?path[]=/given/inside.txt',
  '/api/file?path=/given/inside.txt&path=/given/../secret.txt',
  '/api/file?path=/given/../secret.txt&path=/given/inside.txt',
  '/api/file?x=1%26path=/given/inside.txt',
  '/api/file?path%3d/given/inside.txt',
  '/api/file;path=/given/inside.txt',
  '/api/file/given/inside.txt',
  '/api/file%3fpath=/given/inside.txt',
  '/api/../api/file?path=/given/inside.txt',
  '/api/./file?path=/given/inside.txt',
  '/API/file?path=/given/inside.txt',
  '/api//file?path=/given/inside.txt',
  '/api\\file?path=/given/inside.txt',
  '/__proto__',
  '/constructor',
  '/package.json',
  '/index.html',
  '/node_modules/grpo/package.json',
  'file:///etc/passwd',
  'http://169.254.169.254/latest/meta-data/',
  '*',
  'secret.txt',
];

describe('what lies outside the given paths', () => {
  beforeEach(() => {
    const link = (target: string, name: string) => symlinkSync(target, join(folder, 'given', name));
    link('../secret.txt', 'link-out');
    link('/etc/passwd', 'link-absolute');
    link('../given-2/secret.txt', 'link-sibling');
    link('link-out', 'chain');
    link('..', 'folder-out');
    link('/', 'folder-root');
    link('/proc', 'proc');
    link('loop', 'loop');
    link('nowhere', 'dangling');
    link('/dev/zero', 'device');
    link('/dev/tty', 'terminal');
    execFileSync('mkfifo', [join(folder, 'given/pipe')]);
    const socket = createServer().listen(join(folder, 'given/socket'));
    onTestFinished(() => void socket.close());
  });

  it('is tried in more than 200 ways', () => {
    expect(new Set(PATHS).size).toBe(PATHS.length);
    expect(PATHS.length + TARGETS.length).toBeGreaterThan(200);
  });

  it('is not read', async () => {
    for (const path of PATHS) await expectRefused(`/api/file?path=${path}`);
    expect(server.reports).toEqual([]);
  });

  it('is not listed', async () => {
    for (const path of PATHS) await expectRefused(`/api/list?path=${path}`);
    const names = (await server.list('/given')).map(({ name }) => name);
    expect(names).toEqual(['deep', 'inside.txt', 'odd']);
  });

  it('is no page', async () => {
    for (const target of TARGETS) await expectRefused(target);
  });

  it('is the same as what is not there', async () => {
    const answer = async (path: string) => {
      const { status, body } = await get(`/api/file?path=${path}`);
      return [status, body.toString()];
    };
    const absent = await answer('/given/none');
    for (const name of ['link-out', 'folder-out/secret.txt', 'folder-out/none', 'dangling', 'device', 'deep'])
      expect(await answer(`/given/${name}`), name).toEqual(absent);
  });

  it('leaves no file open', async () => {
    const before = openFiles().length;
    for (const name of ['pipe', 'socket', 'device', 'link-out', 'deep', 'inside.txt'])
      await get(`/api/file?path=/given/${name}`);
    expect(openFiles().filter((path) => path.startsWith(folder) && !path.endsWith('socket'))).toEqual([]);
    expect(openFiles().length).toBeLessThanOrEqual(before);
  });
});

describe('what lies inside', () => {
  it('is read and listed under every name that a file may have', async () => {
    expect((await get('/api/file?path=/given/inside.txt')).body.toString()).toBe('inside');
    expect((await get('/api/file?path=%2fgiven%2Finside.txt')).body.toString()).toBe('inside');
    expect((await get('/api/file?x=1&path=/given/inside.txt&y')).body.toString()).toBe('inside');
    const names = (await server.list('/given/odd')).map(({ name }) => name);
    expect(new Set(names)).toEqual(new Set(ODD));
    for (const name of ODD) {
      const answer = await server.file(`/given/odd/${name}`);
      expect([answer.status, await answer.text()], name).toEqual([200, `content of ${name}`]);
    }
  });

  it('may be a given path with an odd name', async () => {
    const names = ['a b', '100%', 'a#b', 'a?b', '日本', '..x', 'a\\b'];
    const more = folderOf(Object.fromEntries(names.map((name) => [`${name}/x`, name])));
    const odd = await serve(names.map((name) => join(more, name)));
    const listed = (await odd.list('/')).map(({ name }) => name);
    expect(listed).toEqual([...names.slice(0, -1), 'a_b']);
    for (const [i, name] of names.entries())
      expect(await (await odd.file(`/${listed[i]}/x`)).text()).toBe(name);
  });
});

it.runIf(process.platform === 'linux')(
  'a folder that turns into a link and back while it is read leads nowhere else',
  async () => {
    const given = join(folder, 'given');
    mkdirSync(join(given, 'swap'));
    writeFileSync(join(given, 'swap/secret.txt'), 'inside');
    symlinkSync('..', join(given, 'link'));
    const swapping = new Worker(
      `const { renameSync } = require('node:fs');
     const { workerData: { given, stop } } = require('node:worker_threads');
     const at = (name) => given + '/' + name;
     while (Atomics.load(stop, 0) === 0) {
       renameSync(at('swap'), at('folder'));
       renameSync(at('link'), at('swap'));
       renameSync(at('swap'), at('link'));
       renameSync(at('folder'), at('swap'));
     }`,
      { eval: true, workerData: { given, stop: new Int32Array(new SharedArrayBuffer(4)) } },
    );
    onTestFinished(async () => void (await swapping.terminate()));
    const warnings: string[] = [];
    const warn = ({ message }: Error) => warnings.push(message);
    process.on('warning', warn);
    onTestFinished(() => void process.off('warning', warn));
    const seen = new Set<string>();
    const ask = async () => {
      const file = await server.file('/given/swap/secret.txt');
      seen.add(file.status === 200 ? await file.text() : String(file.status));
      const list = await server.get(`api/list?path=/given/swap`);
      if (list.status !== 200) return;
      const lists = (await list.json()) as Record<string, { name: string }[]>;
      for (const { name } of lists['/given/swap']!) seen.add(name);
    };
    for (let i = 0; i < 200; i++) await Promise.all(Array.from({ length: 8 }, ask));
    expect([...seen].sort()).toEqual(['404', 'inside', 'secret.txt']);
    // What is left open is closed by the garbage collector, with a warning.
    expect([...warnings, ...openFiles().filter((path) => path.startsWith(folder))]).toEqual([]);
  },
);

it('a given path that becomes a link later leads nowhere else', async () => {
  renameSync(join(folder, 'given'), join(folder, 'moved'));
  symlinkSync('.', join(folder, 'given'));
  await expectRefused('/api/file?path=/given/secret.txt');
  await expectRefused('/api/list?path=/given');
});
