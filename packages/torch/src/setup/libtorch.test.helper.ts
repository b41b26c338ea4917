import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A new folder, which is there until the test file ends. The space in its name is on purpose. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'grpo setup '));
  folders.push(folder);
  return folder;
}

/** Traits of the libtorch that {@link writeLibtorch} writes. */
export interface FakeLibtorch {
  version?: [major: number, minor: number, patch: number];
  /** Where the libraries go, below the root. */
  lib?: string;
  cuda?: boolean;
  cxx11Abi?: boolean;
  /** Contents of the wheel's version.py. */
  python?: string;
  /** Ending of the libraries; this system's when unset. */
  suffix?: 'so' | 'dylib';
}

/** Writes a folder with the headers and libraries of a libtorch, all of them next to empty. */
export function writeLibtorch(root: string, fake: FakeLibtorch = {}): string {
  const { version = [2, 13, 0], lib = 'lib', cuda = false, cxx11Abi = true, python } = fake;
  const { suffix = process.platform === 'darwin' ? 'dylib' : 'so' } = fake;
  const api = 'include/torch/csrc/api/include/torch';
  const numbers = ['MAJOR', 'MINOR', 'PATCH'].map((n, i) => `#define TORCH_VERSION_${n} ${version[i]}`);
  write(root, `${api}/torch.h`, '');
  write(root, `${api}/version.h`, numbers.join('\n'));
  write(root, 'include/ATen/core/dispatch/Dispatcher.h', '');
  const symbol = `\0_ZN3c105ErrorC1${cxx11Abi ? 'NSt7__cxx1112basic_stringE' : 'SsS1_'}\0`;
  write(root, `${lib}/libc10.${suffix}`, symbol);
  for (const name of ['torch', 'torch_cpu', ...(cuda ? ['torch_cuda', 'c10_cuda'] : [])]) {
    write(root, `${lib}/lib${name}.${suffix}`, '');
  }
  if (python) write(root, 'version.py', python);
  return root;
}

function write(root: string, name: string, text: string): void {
  const file = join(root, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
