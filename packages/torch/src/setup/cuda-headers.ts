import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

// The header that states the version, and one that it includes, which NVIDIA packs apart.
const runtime = 'cuda_runtime_api.h';
const needed = [runtime, join('crt', 'host_defines.h')];

/**
 * The folder of CUDA's headers, of the version that this libtorch was built with: NVIDIA's Python packages beside it,
 * `CUDA_HOME`, `CUDA_PATH`, the toolkit of the `nvcc` on the path, or the usual place. Undefined where there are none;
 * headers of another version would lay out libtorch's classes differently.
 */
export function findCudaHeaders(root: string, usual = '/usr/local/cuda'): string | undefined {
  const wanted = builtWith(root);
  if (wanted === undefined) return undefined;
  const { CUDA_HOME, CUDA_PATH, PATH = '' } = process.env;
  const compiler = PATH.split(delimiter)
    .map((folder) => join(folder, 'nvcc'))
    .find(existsSync);
  const toolkits = [CUDA_HOME, CUDA_PATH, compiler && dirname(dirname(realpathSync(compiler))), usual];
  const folders = [...besides(root), ...toolkits.flatMap((home) => (home ? [join(home, 'include')] : []))];
  return folders.find(
    (folder) =>
      needed.every((name) => existsSync(join(folder, name))) && versionOf(join(folder, runtime)) === wanted,
  );
}

/** CUDA's version as a wheel's version.py has it, or the name of an archive: `13.0`. */
function builtWith(root: string): string | undefined {
  const read = (name: string) => (existsSync(join(root, name)) ? readFileSync(join(root, name), 'utf8') : '');
  const [, stated] = /^cuda\b.*=\s*'([\d.]+)'/m.exec(read('version.py')) ?? [];
  const [, major, minor] = /\+cu(\d+)(\d)\s*$/.exec(read('build-version')) ?? [];
  return stated ?? (major && `${major}.${minor}`);
}

function versionOf(header: string): string {
  const number = Number(/define CUDART_VERSION\s+(\d+)/.exec(readFileSync(header, 'utf8'))?.[1]);
  return `${Math.floor(number / 1000)}.${(number % 1000) / 10}`;
}

function besides(root: string): string[] {
  const packages = join(dirname(root), 'nvidia');
  return existsSync(packages) ? readdirSync(packages).map((name) => join(packages, name, 'include')) : [];
}
