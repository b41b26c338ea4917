import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type BuildInput, buildAddon, buildKey, compilations } from './build.js';
import { compileFlags, findCompiler, linkFlags } from './compiler.js';
import { inspectLayout, type Layout } from './layout.js';
import { temporaryFolder, writeLibtorch } from './libtorch.test.helper.js';

let input: BuildInput;

beforeEach(() => {
  const native = temporaryFolder();
  writeFileSync(join(native, 'a.cc'), 'int a;');
  writeFileSync(join(native, 'a.h'), '');
  const libtorch = inspectLayout(writeLibtorch(temporaryFolder())) as Layout;
  input = { native, build: temporaryFolder(), libtorch, compiler: { command: ['c++'], version: 'c++ 12' } };
});
afterEach(() => vi.unstubAllEnvs());

function withSource(input: BuildInput, name: string, text: string): BuildInput {
  writeFileSync(join(input.native, name), text);
  return input;
}

function withCudaHeaders(input: BuildInput): BuildInput {
  mkdirSync(join(input.native, 'cuda'));
  return { ...input, libtorch: { ...input.libtorch, cudaInclude: '/cuda/include' } };
}

describe('buildKey', () => {
  it('stays the same while nothing changes', () => {
    const key = buildKey(input);
    writeFileSync(join(input.native, 'a.cc'), 'int a;');
    writeFileSync(join(input.native, 'notes.txt'), '');
    expect(key).toMatch(/^[0-9a-f]{16}$/);
    expect(buildKey({ ...input, build: '/elsewhere' })).toBe(key);
  });

  it.each<[string, (input: BuildInput) => BuildInput]>([
    ['a source', (i) => withSource(i, 'a.cc', 'int b;')],
    ['a header', (i) => withSource(i, 'a.h', '//')],
    ['a new source', (i) => withSource(i, 'b.cc', '')],
    ['the compiler', (i) => ({ ...i, compiler: { ...i.compiler, version: 'c++ 13' } })],
    ['the place of libtorch', (i) => ({ ...i, libtorch: { ...i.libtorch, root: '/elsewhere' } })],
    ['its version', (i) => ({ ...i, libtorch: { ...i.libtorch, version: '2.13.1' } })],
    ['its ABI', (i) => ({ ...i, libtorch: { ...i.libtorch, cxx11Abi: !i.libtorch.cxx11Abi } })],
    ['its CUDA half', (i) => ({ ...i, libtorch: { ...i.libtorch, cuda: true } })],
    ["CUDA's headers", withCudaHeaders],
    ['process groups', (i) => ({ ...i, libtorch: { ...i.libtorch, processGroups: true } })],
  ])('changes with %s', (_, change) => {
    const key = buildKey(input);
    expect(buildKey(change(input))).not.toBe(key);
  });
});

describe('compilations at once', () => {
  it.each([
    [8, 64e9, 8],
    [8, 4.2e9, 2],
    [2, 1e9, 1],
  ])('on %d cores with %d bytes are %d', (cores, bytes, most) => {
    expect(compilations(cores, bytes)).toBe(most);
  });
});

describe('linkFlags', () => {
  it('keep the CUDA libraries, which no symbol asks for', () => {
    const flags = linkFlags({ ...input.libtorch, cuda: true });
    expect(flags.indexOf('-Wl,--no-as-needed')).toBe(flags.indexOf('-ltorch_cuda') - 1);
    expect(linkFlags(input.libtorch)).not.toContain('-ltorch_cuda');
  });

  it('let the kernels use all threads, with the one runtime that libtorch has', () => {
    const torch = inspectLayout(writeLibtorch(temporaryFolder()), 'linux') as Layout;
    const flagsOf = (version: string) => compileFlags(torch, { version }, 'linux');
    expect(flagsOf('c++ (Debian 12.2.0-14) 12.2.0')).toContain('-fopenmp');
    expect(flagsOf('Debian clang version 14.0.6')).not.toContain('-fopenmp');
    expect(linkFlags(torch, 'linux').join(' ')).not.toMatch(/openmp|gomp/);
  });

  it("are C++20 for the libtorch that is, and take CUDA's headers where there are some", () => {
    const flagsOf = (change: Partial<Layout>) =>
      compileFlags({ ...input.libtorch, ...change }, input.compiler, 'linux').join(' ');
    expect(flagsOf({})).toContain('-std=c++17');
    expect(flagsOf({ version: '2.14.1+cu130' })).toContain('-std=c++20');
    expect(flagsOf({})).not.toContain('CUDA');
    expect(flagsOf({ cudaInclude: '/cuda/include' })).toContain('-DGRPO_CUDA_GRAPHS -I/cuda/include');
  });

  it('make a bundle on macOS', () => {
    const mac = inspectLayout(writeLibtorch(temporaryFolder(), { suffix: 'dylib' }), 'darwin') as Layout;
    expect(mac).toMatchObject({ cuda: false, cxx11Abi: undefined });
    expect(linkFlags(mac, 'darwin')).toEqual([
      ...['-bundle', '-undefined', 'dynamic_lookup', `-L${mac.lib}`],
      ...['-Xlinker', '-rpath', '-Xlinker', mac.lib, '-ltorch', '-ltorch_cpu', '-lc10'],
    ]);
    const flags = compileFlags(mac, { version: 'Apple clang version 17' }, 'darwin');
    expect(flags).not.toContain('-pthread');
    expect(flags.join(' ')).not.toContain('_GLIBCXX_USE_CXX11_ABI');
  });
});

describe('buildAddon', () => {
  // Stands for a compiler that fails with 60 lines.
  const failing = () => {
    const script = join(temporaryFolder(), 'cxx');
    writeFileSync(script, '#!/bin/sh\nfor i in $(seq 60); do echo "error $i"; done\nexit 1\n');
    chmodSync(script, 0o755);
    return { command: [script], version: '1' };
  };

  it('shows the command and the first lines of a compiler that fails, and leaves nothing', async () => {
    const broken = { ...input, compiler: failing() };
    const key = buildKey(broken);
    const error = await buildAddon(broken, key, () => {}, temporaryFolder()).catch((e: Error) => e);
    const text = (error as Error).message;
    expect(text).toContain(`-c '${join(input.native, 'a.cc')}'`);
    expect(text).toContain('error 40');
    expect(text).not.toContain('error 41');
    expect(readdirSync(input.build)).toEqual([]);
  });

  it("compiles what needs CUDA's headers, or process groups, only where there are some", async () => {
    const compiled = async (input: BuildInput) => {
      const script = join(temporaryFolder(), 'cxx');
      writeFileSync(script, `#!/bin/sh\necho "$@" >> '${script}.log'\n`);
      chmodSync(script, 0o755);
      const logged = { ...input, compiler: { command: [script], version: '1' } };
      // Nothing is made, so nothing loads.
      await expect(buildAddon(logged, 'key', () => {}, temporaryFolder())).rejects.toThrow('cannot load');
      return readFileSync(`${script}.log`, 'utf8');
    };
    const cuda = withCudaHeaders(input);
    writeFileSync(join(cuda.native, 'cuda/b.cc'), 'int b;');
    expect(await compiled(cuda)).toMatch(/cuda\/b\.cc -o .*cuda-b\.cc\.o/);
    expect(await compiled(input)).not.toContain('b.cc');
    mkdirSync(join(input.native, 'distributed/gloo'), { recursive: true });
    writeFileSync(join(input.native, 'distributed/c.cc'), 'int c;');
    writeFileSync(join(input.native, 'distributed/gloo/d.cc'), 'int d;');
    expect(await compiled(input)).not.toMatch(/[cd]\.cc/);
    const groups = { ...input, libtorch: { ...input.libtorch, processGroups: true } };
    expect(await compiled(groups)).toMatch(/-DGRPO_PROCESS_GROUPS[\s\S]*c\.cc[\s\S]*d\.cc/);
  });

  it('takes what another clone has built', async () => {
    const cache = temporaryFolder();
    const key = buildKey(input);
    mkdirSync(join(cache, 'addon'));
    writeFileSync(join(cache, 'addon', `${key}.node`), 'built');
    const addon = await buildAddon({ ...input, compiler: failing() }, key, () => {}, cache);
    expect(readFileSync(addon, 'utf8')).toBe('built');
    rmSync(cache, { recursive: true });
    // The second time it is at its place and the cache is not asked.
    expect(await buildAddon(input, key, () => {}, cache)).toBe(addon);
  });
});

describe('findCompiler', () => {
  it('takes CXX with its arguments', () => {
    vi.stubEnv('CXX', 'env c++');
    expect(findCompiler()).toMatchObject({ command: ['env', 'c++'] });
  });

  it('says that CXX does not run', () => {
    vi.stubEnv('CXX', 'no-such-compiler');
    expect(() => findCompiler()).toThrow('CXX=no-such-compiler does not run');
  });

  it('says that there is none, and how to get one', () => {
    vi.stubEnv('CXX', '');
    const bin = temporaryFolder();
    vi.stubEnv('PATH', bin);
    if (process.platform === 'linux')
      expect(() => findCompiler()).toThrow(/Install one, or name one with CXX\.$/);
    writeFileSync(join(bin, 'apt-get'), '');
    chmodSync(join(bin, 'apt-get'), 0o755);
    expect(() => findCompiler()).toThrow(/Install one: .*(apt-get install g\+\+|xcode-select --install)/);
  });
});
