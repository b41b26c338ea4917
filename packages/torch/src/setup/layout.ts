import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findCudaHeaders } from './cuda-headers.js';

/** Headers and libraries of libtorch in one folder. */
export interface Layout {
  /** The folder that holds `include` and `lib`. */
  root: string;
  /** Version as libtorch names it, with the wheel's suffix if it has one: `2.13.0+cpu`. */
  version: string;
  /** Include roots, in the compiler's order. */
  includes: string[];
  /** Folder of the shared libraries. */
  lib: string;
  /** Whether the CUDA half of libtorch is there. */
  cuda: boolean;
  /** Folder of CUDA's headers, of the version that libtorch was built with; absent where there are none. */
  cudaInclude?: string | undefined;
  /** Whether torch.distributed's process groups are there, with headers that this addon's sources fit. */
  processGroups: boolean;
  /** `_GLIBCXX_USE_CXX11_ABI` of the build; undefined where there is no such choice (macOS). */
  cxx11Abi?: boolean;
  /** The header that states the version: while it is unchanged, so is the libtorch. */
  stamp: Stamp;
}

/** Enough of a file's state to notice that it was replaced. */
export interface Stamp {
  file: string;
  size: number;
  mtimeMs: number;
}

/** Why a way led to no libtorch. */
export interface Missing {
  why: string;
}

const apiInclude = join('include', 'torch', 'csrc', 'api', 'include');
const processGroupHeader = join('include', 'torch', 'csrc', 'distributed', 'c10d', 'ProcessGroupGloo.hpp');
const multiarch: Partial<Record<NodeJS.Architecture, string>> = {
  x64: 'x86_64-linux-gnu',
  arm64: 'aarch64-linux-gnu',
};
// The sources are written for all of them; tests run with the first and with the pinned one.
const oldest = '1.13';
const newestMajor = 2;

/**
 * Looks at a folder as a libtorch: the unpacked archive, the `torch` folder of a Python installation, or
 * `/usr` as Debian lays it out. Says what is missing when it is none.
 */
export function inspectLayout(root: string, platform = process.platform): Layout | Missing {
  const suffix = platform === 'darwin' ? 'dylib' : 'so';
  if (!existsSync(root)) return { why: `${root} does not exist` };
  const headers = ['torch/torch.h', 'torch/version.h'].map((name) => join(root, apiInclude, name));
  headers.push(join(root, 'include', 'ATen', 'core', 'dispatch', 'Dispatcher.h'));
  const absent = headers.find((header) => !existsSync(header));
  if (absent) return { why: `${absent} is missing` };
  const lib = libraryFolder(root, `libtorch_cpu.${suffix}`);
  if (!lib) return { why: `${join(root, 'lib')} has no libtorch_cpu.${suffix}` };
  const library = ['torch', 'c10']
    .map((name) => join(lib, `lib${name}.${suffix}`))
    .find((f) => !existsSync(f));
  if (library) return { why: `${library} is missing` };

  const header = versionHeader(root);
  if (!header) return { why: `${join(root, apiInclude, 'torch/version.h')} states no version` };
  const version = wheelVersion(root) ?? header.version;
  const major = version.split('.')[0]!;
  if (!isAtLeast(version, oldest) || Number(major) > newestMajor) {
    return { why: `${root} is libtorch ${version}; ${oldest} to ${newestMajor}.x are supported` };
  }
  const cuda = ['torch_cuda', 'c10_cuda'].every((name) => existsSync(join(lib, `lib${name}.${suffix}`)));
  return {
    root,
    version,
    includes: [join(root, 'include'), join(root, apiInclude)],
    lib,
    cuda,
    cudaInclude: cuda ? findCudaHeaders(root) : undefined,
    processGroups: isAtLeast(version, '2.0') && existsSync(join(root, processGroupHeader)),
    cxx11Abi: platform === 'linux' ? usesCxx11Abi(join(lib, `libc10.${suffix}`)) : undefined,
    stamp: stampOf(header.file),
  };
}

/** Whether version `a` is `b` or later, by its numbers: `2.13.0+cpu` is at least `2.4`. */
export function isAtLeast(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) =>
    text
      .split('+')[0]!
      .split('.')
      .map((n) => Number.parseInt(n, 10)),
  );
  const i = right!.findIndex((n, at) => n !== (left![at] ?? 0));
  return i < 0 || (left![i] ?? 0) > right![i]!;
}

function stampOf(file: string): Stamp {
  const { size, mtimeMs } = statSync(file);
  return { file, size, mtimeMs };
}

function libraryFolder(root: string, library: string): string | undefined {
  const lib = join(root, 'lib');
  const names = [lib, join(lib, multiarch[process.arch] ?? ''), join(root, 'lib64')];
  return names.find((dir) => existsSync(join(dir, library)));
}

// Newer releases keep the numbers in a header of their own, which the older one includes.
function versionHeader(root: string): { file: string; version: string } | undefined {
  const files = [join(root, 'include/torch/headeronly/version.h'), join(root, apiInclude, 'torch/version.h')];
  for (const file of files.filter(existsSync)) {
    const text = readFileSync(file, 'utf8');
    const part = (name: string) => text.match(new RegExp(`define TORCH_VERSION_${name}\\s+(\\d+)`))?.[1];
    const numbers = [part('MAJOR'), part('MINOR'), part('PATCH')];
    if (numbers.every((n) => n !== undefined)) return { file, version: numbers.join('.') };
  }
  return undefined;
}

// Python's copy tells CPU from CUDA builds of one version, which the header does not.
function wheelVersion(root: string): string | undefined {
  const file = join(root, 'version.py');
  if (!existsSync(file)) return undefined;
  return readFileSync(file, 'utf8').match(/__version__\s*=\s*'([^']+)'/)?.[1];
}

// A constructor that takes a std::string has the ABI in its mangled name: no Python is needed to ask.
function usesCxx11Abi(libc10: string): boolean {
  return /_ZN3c105Error\w*__cxx11/.test(readFileSync(libc10, 'latin1'));
}
