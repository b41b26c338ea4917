import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { temporaryFolder, writeLibtorch } from './testing.js';
import { findCachedTorch, pinnedTorch, wheels } from './wheel.js';

let cache: string;
let home: string;
let said: string[];
const say = (line: string) => said.push(line);

beforeEach(() => {
  cache = temporaryFolder();
  home = join(cache, `torch-${pinnedTorch}-${process.platform}-${process.arch}`);
  said = [];
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
  expect(said[1]).toContain('is not whole');
});

it('leaves nothing behind when pip fails', async () => {
  fakePython('exit 1');
  expect(await findCachedTorch(say, cache)).toMatchObject({ why: expect.stringContaining('pip could not') });
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

it('asks for the small CPU build first where there is no NVIDIA driver', () => {
  expect(wheels('linux', false).map(([wheel]) => wheel)).toEqual([
    `torch==${pinnedTorch}+cpu`,
    `torch==${pinnedTorch}`,
  ]);
  expect(wheels('linux', true)).toEqual([[`torch==${pinnedTorch}`]]);
  expect(wheels('darwin', false)).toEqual([[`torch==${pinnedTorch}`]]);
});
