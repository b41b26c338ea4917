import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inspectLayout, isAtLeast } from './layout.js';
import { temporaryFolder, writeLibtorch } from './libtorch.test.helper.js';

describe('inspectLayout', () => {
  it('reads an unpacked libtorch', () => {
    const root = writeLibtorch(temporaryFolder(), { version: [2, 6, 1] });
    const api = join(root, 'include/torch/csrc/api/include');
    expect(inspectLayout(root)).toMatchObject({
      root,
      version: '2.6.1',
      includes: [join(root, 'include'), api],
      lib: join(root, 'lib'),
      cuda: false,
      stamp: { file: join(api, 'torch/version.h') },
    });
  });

  it("prefers the wheel's own name of its version", () => {
    const root = writeLibtorch(temporaryFolder(), { python: "__version__ = '2.13.0+cu126'\n" });
    expect(inspectLayout(root)).toMatchObject({ version: '2.13.0+cu126' });
  });

  it('sees the CUDA half', () => {
    expect(inspectLayout(writeLibtorch(temporaryFolder(), { cuda: true }))).toMatchObject({ cuda: true });
  });

  it.each<[number, boolean]>([
    [1, false],
    [2, true],
  ])('sees process groups where libtorch %i has them', (major, processGroups) => {
    const root = writeLibtorch(temporaryFolder(), { version: [major, 13, 0] });
    expect(inspectLayout(root)).toMatchObject({ processGroups: false });
    const folder = join(root, 'include/torch/csrc/distributed/c10d');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'ProcessGroupGloo.hpp'), '');
    expect(inspectLayout(root)).toMatchObject({ processGroups });
  });

  it.runIf(process.platform === 'linux').each([true, false])('reads the ABI off libc10: %s', (cxx11Abi) => {
    expect(inspectLayout(writeLibtorch(temporaryFolder(), { cxx11Abi }))).toMatchObject({ cxx11Abi });
  });

  it.runIf(process.arch === 'x64')("finds Debian's folder of libraries", () => {
    const root = writeLibtorch(temporaryFolder(), { lib: 'lib/x86_64-linux-gnu' });
    expect(inspectLayout(root)).toMatchObject({ lib: join(root, 'lib/x86_64-linux-gnu') });
  });

  it.each(['include/torch/csrc/api/include/torch/torch.h', 'include/ATen/core/dispatch/Dispatcher.h'])(
    'names a missing %s',
    (name) => {
      const root = writeLibtorch(temporaryFolder());
      rmSync(join(root, name));
      expect(inspectLayout(root)).toEqual({ why: `${join(root, name)} is missing` });
    },
  );

  it.each<[number, number, number]>([
    [1, 12, 1],
    [3, 0, 0],
  ])('takes no libtorch %i.%i.%i', (...version) => {
    const root = writeLibtorch(temporaryFolder(), { version });
    expect(inspectLayout(root)).toEqual({
      why: `${root} is libtorch ${version.join('.')}; 1.13 to 2.x are supported`,
    });
  });

  it.each<[number, number, number]>([
    [1, 13, 0],
    [2, 0, 0],
    [2, 99, 9],
  ])('takes libtorch %i.%i.%i', (...version) => {
    expect(inspectLayout(writeLibtorch(temporaryFolder(), { version }))).toMatchObject({
      version: version.join('.'),
    });
  });

  it('takes no folder without the libraries', () => {
    const root = writeLibtorch(temporaryFolder());
    rmSync(join(root, 'lib'), { recursive: true });
    expect(inspectLayout(root)).toMatchObject({ why: expect.stringContaining('libtorch_cpu') });
    expect(inspectLayout(join(root, 'lib'))).toEqual({ why: `${join(root, 'lib')} does not exist` });
  });
});

describe('isAtLeast', () => {
  it.each([
    ['2.13.0+cpu', '2.4', true],
    ['2.4', '2.4', true],
    ['2.4.1', '2.4', true],
    ['3.0', '2.4', true],
    ['2.3.1', '2.4', false],
    ['1.13.1', '2.4', false],
  ])('%s is at least %s: %s', (a, b, expected) => {
    expect(isAtLeast(a, b)).toBe(expected);
  });
});
