import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { installCommand } from './install-command.js';
import { isAtLeast, type Layout } from './layout.js';
import { firstLine, SetupError } from './run.js';

/** A C++ compiler that runs. */
export interface Compiler {
  /** Program and leading arguments: `CXX` may be `ccache g++`. */
  command: string[];
  /** First line of `--version`. */
  version: string;
}

/**
 * `CXX` if it is set, else the first of c++, g++ and clang++ that runs.
 * @throws SetupError that says how to get one.
 */
export function findCompiler(): Compiler {
  const wanted = process.env.CXX?.trim();
  const commands = wanted ? [wanted.split(/\s+/)] : [['c++'], ['g++'], ['clang++']];
  for (const command of commands) {
    const version = firstLine(command[0]!, [...command.slice(1), '--version']);
    if (version !== undefined) return { command, version };
  }
  if (wanted) throw new SetupError(`CXX=${wanted} does not run. Unset it or name a C++17 compiler.`);
  const command = installCommand('compiler');
  throw new SetupError(
    'There is no C++ compiler (c++, g++ or clang++), which set-up needs. ' +
      (command ? `Install one: ${command}` : 'Install one, or name one with CXX.'),
  );
}

/** Node's C headers, from npm: no Node installation has to carry them. */
export interface NodeHeaders {
  include: string;
  version: string;
}

/** The headers of the `node-api-headers` package. */
export function findNodeHeaders(): NodeHeaders {
  const require = createRequire(import.meta.url);
  const file = require.resolve('node-api-headers/package.json');
  const { version } = require(file) as { version: string };
  return { include: join(dirname(file), 'include'), version };
}

/** Arguments that compile one source to an object, without the names of the two and Node's headers. */
export function compileFlags(
  libtorch: Layout,
  { version }: Pick<Compiler, 'version'>,
  platform = process.platform,
): string[] {
  // Libtorch's headers are C++20 from 2.14 on; compilers for older ones need not know it.
  const standard = isAtLeast(libtorch.version, '2.14') ? '-std=c++20' : '-std=c++17';
  const flags = [standard, '-O2', '-fPIC', ...threads(platform)];
  // at::parallel_for is code in a header, and serial without it. GCC's runtime is the one that libtorch brings along; it
  // is not linked, or there could be two. Clang's is another, so what clang builds computes our operators on one thread.
  if (platform === 'linux' && !/clang/i.test(version)) flags.push('-fopenmp');
  // Basic finalizers, which run during garbage collection, are behind this switch.
  flags.push('-DNAPI_EXPERIMENTAL');
  if (libtorch.cxx11Abi !== undefined) flags.push(`-D_GLIBCXX_USE_CXX11_ABI=${libtorch.cxx11Abi ? 1 : 0}`);
  // The system's own folder is searched anyway; named, it would come before the C++ library's headers.
  const includes = libtorch.includes.filter((folder) => folder !== '/usr/include');
  flags.push(...includes.map((folder) => `-I${folder}`));
  if (libtorch.cudaInclude) flags.push('-DGRPO_CUDA_GRAPHS', `-I${libtorch.cudaInclude}`);
  if (libtorch.processGroups) flags.push('-DGRPO_PROCESS_GROUPS');
  return flags;
}

/**
 * Arguments that link the objects to an addon; they come after the objects. Node's own symbols are there when it loads
 * the addon, which Apple's linker has to be told. MPS, Apple's GPU, is part of torch_cpu.
 */
export function linkFlags(libtorch: Layout, platform = process.platform): string[] {
  const form = platform === 'darwin' ? ['-bundle', '-undefined', 'dynamic_lookup'] : ['-shared'];
  const flags = [...form, ...threads(platform), `-L${libtorch.lib}`];
  // -Xlinker, because a comma in the path would end an argument of -Wl.
  flags.push('-Xlinker', '-rpath', '-Xlinker', libtorch.lib);
  flags.push('-ltorch', '-ltorch_cpu', '-lc10');
  // No symbol of the CUDA half is used directly: it registers itself when it is loaded, so it must stay. It finds
  // NVIDIA's libraries by its own path.
  if (libtorch.cuda) flags.push('-Wl,--no-as-needed', '-ltorch_cuda', '-lc10_cuda');
  return flags;
}

// On macOS threads are in the C library, and clang says that the switch is not used.
function threads(platform: NodeJS.Platform): string[] {
  return platform === 'darwin' ? [] : ['-pthread'];
}
