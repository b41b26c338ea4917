import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder, writeLibtorch } from '../libtorch.test.helper.js';
import { findCachedTorch } from './cache.js';
import { pinnedTorch } from './pinned.js';
import { sendAndDrop, sendFile, serve } from './server.test.helper.js';
import { makeZip } from './zip.test.helper.js';

let cache: string;
let home: string;
let said: string[];
const say = (line: string) => said.push(line);

beforeEach(() => {
  cache = temporaryFolder();
  home = join(cache, `torch-${pinnedTorch}-${process.platform}-${process.arch}`);
  said = [];
  // Nobody answers there: only what is asked for on purpose comes from Node.
  vi.stubEnv('GRPO_TORCH_INDEX', 'http://127.0.0.1:9');
  for (const name of ['HTTPS_PROXY', 'https_proxy']) vi.stubEnv(name, undefined);
});
afterEach(() => vi.unstubAllEnvs());

// Stands for python3: has pip, and "installs" by copying a folder to --target, or does what `instead` says.
function fakePython(instead = ''): void {
  const wheel = temporaryFolder();
  writeLibtorch(join(wheel, 'torch'));
  const bin = temporaryFolder();
  const script = `#!/bin/sh
case "$3" in --version) exit 0;; esac
${instead}
while [ "$1" != --target ]; do shift; done
mkdir -p "$2" && cp -r '${wheel}/torch' "$2/"
`;
  writeFileSync(join(bin, 'python3'), script);
  chmodSync(join(bin, 'python3'), 0o755);
  vi.stubEnv('PATH', `${bin}:${process.env.PATH}`);
}

it('installs once and says so', async () => {
  fakePython();
  const root = join(home, 'torch');
  expect(await findCachedTorch(say, cache)).toMatchObject({ root, version: '2.13.0' });
  expect(said).toHaveLength(1);
  expect(readdirSync(cache)).toEqual([`torch-${pinnedTorch}-${process.platform}-${process.arch}`]);
  fakePython('exit 1');
  expect(await findCachedTorch(say, cache)).toMatchObject({ root });
  expect(said).toHaveLength(1);
});

it('replaces a half-made install', async () => {
  fakePython();
  writeLibtorch(join(home, 'torch'), { version: [9, 9, 9] });
  rmSync(join(home, 'torch', 'lib'), { recursive: true });
  expect(await findCachedTorch(say, cache)).toMatchObject({ version: '2.13.0' });
  expect(said[1]).toContain('is incomplete');
});

it('leaves nothing behind when pip fails', async () => {
  fakePython('exit 1');
  expect(await findCachedTorch(say, cache)).toEqual({
    why:
      `with pip: pip could not install torch==${pinnedTorch}, its message is above; ` +
      'with Node: 127.0.0.1:9 cannot be reached: bad port',
  });
  expect(readdirSync(cache)).toEqual([]);
});

it('does not take an install that lacks the libraries', async () => {
  fakePython('while [ "$1" != --target ]; do shift; done; mkdir -p "$2/torch"; exit 0');
  expect(await findCachedTorch(say, cache)).toMatchObject({ why: expect.stringContaining('is missing') });
  expect(existsSync(home)).toBe(false);
});

it('shares one install between two that begin at once', async () => {
  fakePython();
  const both = await Promise.all([findCachedTorch(say, cache), findCachedTorch(say, cache)]);
  expect(both[0]).toMatchObject({ root: join(home, 'torch') });
  expect(both[1]).toEqual(both[0]);
});

it('removes what a killed set-up left, and only that', async () => {
  fakePython();
  const dead = join(cache, `.making-torch-${hostname()}-4999999-abc`);
  const alive = join(cache, `.making-torch-${hostname()}-1-abc`);
  const elsewhere = join(cache, '.making-torch-another-machine-4999999-abc');
  for (const folder of [dead, alive, elsewhere]) mkdirSync(folder);
  await findCachedTorch(say, cache);
  expect([dead, alive, elsewhere].map((folder) => existsSync(folder))).toEqual([false, true, true]);
});

// The least of a PATH: no python3, no pip, no apt-get.
function withoutPython(): void {
  const bin = temporaryFolder();
  symlinkSync(process.execPath, join(bin, 'node'));
  vi.stubEnv('PATH', bin);
}

function makeWheel(): Buffer {
  const folder = temporaryFolder();
  const root = writeLibtorch(join(folder, 'torch'), { python: `__version__ = '${pinnedTorch}+cpu'` });
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.\w+$/.test(name),
  );
  return makeZip(names.map((name) => ({ name: `torch/${name}`, content: readFileSync(join(root, name)) })));
}

const wheelName =
  process.platform === 'darwin'
    ? `torch-${pinnedTorch}-cp312-none-macosx_14_0_arm64.whl`
    : `torch-${pinnedTorch}+cpu-cp312-cp312-manylinux_2_28_${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.whl`;

function index(wheel: Buffer, sha256 = createHash('sha256').update(wheel).digest('hex')) {
  const page = `<a href="../${encodeURIComponent(wheelName)}#sha256=${sha256}">${wheelName}</a>`;
  return (url: string | undefined) => (url?.endsWith('/torch/') ? Buffer.from(page) : wheel);
}

describe('without Python', () => {
  beforeEach(withoutPython);

  it('gets the wheel of an index by itself', async () => {
    const files = index(makeWheel());
    await using server = await serve((request, response) => sendFile(request, response, files(request.url)));
    vi.stubEnv('GRPO_TORCH_INDEX', `${server.url}/simple/`);
    expect(await findCachedTorch(say, cache)).toMatchObject({ root: join(home, 'torch') });
    expect(server.asked).toEqual(['/simple/torch/', `/simple/${encodeURIComponent(wheelName)}`]);
    expect(readdirSync(cache)).toEqual([`torch-${pinnedTorch}-${process.platform}-${process.arch}`]);
    expect(said[0]).toContain('there is no python3');
    expect(said.join('\n')).toContain(wheelName);
  });

  it('goes on in the next run with what arrived in this one', async () => {
    const wheel = makeWheel();
    const files = index(wheel);
    const half = wheel.length >> 1;
    let broken = true;
    await using server = await serve((request, response) => {
      const file = files(request.url);
      if (file !== wheel || !broken) return sendFile(request, response, file);
      // The first half, and then an answer that is final.
      if (request.headers.range) return response.writeHead(403).end();
      response.writeHead(200, { 'content-length': wheel.length });
      const part = () =>
        readdirSync(cache, { recursive: true, encoding: 'utf8' }).find((n) => n.endsWith('.part'));
      sendAndDrop(response, wheel.subarray(0, half), () => {
        const name = part();
        return name !== undefined && statSync(join(cache, name)).size === half;
      });
    });
    vi.stubEnv('GRPO_TORCH_INDEX', server.url);
    expect(await findCachedTorch(say, cache)).toMatchObject({
      why: expect.stringContaining('answers 403 Forbidden'),
    });
    expect(readdirSync(cache)).toEqual([expect.stringMatching(/^torch-.*\.whl\.[0-9a-f]{16}\.part$/)]);
    // As if that set-up had been killed: its part lies in its own folder.
    const dead = join(cache, `.making-torch-${hostname()}-4999999-abc`);
    mkdirSync(dead);
    const [part] = readdirSync(cache).filter((name) => name.endsWith('.part'));
    writeFileSync(join(dead, part!), readFileSync(join(cache, part!)));
    rmSync(join(cache, part!));

    broken = false;
    expect(await findCachedTorch(say, cache)).toMatchObject({ root: join(home, 'torch') });
    expect(server.asked.at(-1)).toMatch(new RegExp(` bytes=${half}-$`));
    expect(readdirSync(cache)).toHaveLength(1);
  });

  it('takes nothing that has another checksum than the index says', async () => {
    const files = index(makeWheel(), 'ab'.repeat(32));
    await using server = await serve((request, response) => sendFile(request, response, files(request.url)));
    vi.stubEnv('GRPO_TORCH_INDEX', server.url);
    expect(await findCachedTorch(say, cache)).toMatchObject({
      why: expect.stringContaining(`but ${'ab'.repeat(32)} is expected`),
    });
    expect(readdirSync(cache)).toEqual([]);
  });

  it('says what is wrong with an index', async () => {
    await using server = await serve((request, response) => {
      if (request.url?.startsWith('/empty')) response.end('<html></html>');
      else response.writeHead(404).end();
    });
    const why = async (index: string) => {
      vi.stubEnv('GRPO_TORCH_INDEX', index);
      return (await findCachedTorch(say, cache)) as { why: string };
    };
    expect((await why(`${server.url}/none`)).why).toContain(
      `${server.url}/none/torch/ answers 404 Not Found`,
    );
    expect((await why(`${server.url}/empty`)).why).toContain('/empty/torch/: it has no wheel of torch');
    for (const no of ['mirror', 'file:///mirror', 'https://me:secret@mirror/simple']) {
      expect((await why(no)).why).toMatch(/GRPO_TORCH_INDEX must begin with .*, and hold no password$/);
    }
  });
});

it('gets the wheel by itself where pip fails', async () => {
  fakePython('exit 1');
  const files = index(makeWheel());
  await using server = await serve((request, response) => sendFile(request, response, files(request.url)));
  vi.stubEnv('GRPO_TORCH_INDEX', server.url);
  expect(await findCachedTorch(say, cache)).toMatchObject({ root: join(home, 'torch') });
});
