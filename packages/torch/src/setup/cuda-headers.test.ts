import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findCudaHeaders } from './cuda-headers.js';
import { temporaryFolder } from './libtorch.test.helper.js';

/** Writes the two headers below `home`. */
function writeHeaders(home: string, version: number): string {
  const include = join(home, 'include');
  mkdirSync(join(include, 'crt'), { recursive: true });
  writeFileSync(join(include, 'cuda_runtime_api.h'), `#define CUDART_VERSION  ${version}\n`);
  writeFileSync(join(include, 'crt/host_defines.h'), '');
  return include;
}

let root: string;
let usual: string;

beforeEach(() => {
  root = join(temporaryFolder(), 'torch');
  mkdirSync(root);
  writeFileSync(join(root, 'version.py'), "__version__ = '2.13.0+cu130'\ncuda: Optional[str] = '13.0'\n");
  usual = temporaryFolder();
  for (const name of ['CUDA_HOME', 'CUDA_PATH', 'PATH']) vi.stubEnv(name, '');
});
afterEach(() => vi.unstubAllEnvs());

describe('findCudaHeaders', () => {
  it("takes those of libtorch's version, from the nearest place", () => {
    expect(findCudaHeaders(root, usual)).toBeUndefined();
    const last = writeHeaders(usual, 13000);
    expect(findCudaHeaders(root, usual)).toBe(last);

    const toolkit = temporaryFolder();
    const found = writeHeaders(toolkit, 13000);
    mkdirSync(join(toolkit, 'bin'));
    writeFileSync(join(toolkit, 'bin/nvcc'), '');
    vi.stubEnv('PATH', `${join(usual, 'nowhere')}:${join(toolkit, 'bin')}`);
    expect(findCudaHeaders(root, usual)).toBe(found);

    const home = temporaryFolder();
    const other = writeHeaders(home, 12080);
    vi.stubEnv('CUDA_HOME', home);
    expect(findCudaHeaders(root, usual)).toBe(found);
    writeFileSync(join(root, 'version.py'), "cuda: Optional[str] = '12.8'\n");
    expect(findCudaHeaders(root, usual)).toBe(other);

    const beside = writeHeaders(join(root, '../nvidia/cuda_runtime'), 12080);
    expect(findCudaHeaders(root, usual)).toBe(beside);
  });

  it('passes by headers that are not whole', () => {
    rmSync(join(writeHeaders(join(root, '../nvidia/cu13'), 13000), 'crt'), { recursive: true });
    expect(findCudaHeaders(root, usual)).toBeUndefined();
  });

  it("reads an archive's version, and takes none where there is none to read", () => {
    const include = writeHeaders(usual, 12060);
    rmSync(join(root, 'version.py'));
    expect(findCudaHeaders(root, usual)).toBeUndefined();
    writeFileSync(join(root, 'build-version'), '2.13.0+cu126\n');
    expect(findCudaHeaders(root, usual)).toBe(include);
  });
});
