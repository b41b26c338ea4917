import { buildAddon, buildKey } from './build.js';
import { findCompiler } from './compiler.js';
import { explainDiskError } from './disk.js';
import { inspectLayout } from './layout.js';
import { buildDir, nativeDir } from './paths.js';
import { type BuildRecord, type Libtorch, readBuildRecord, writeBuildRecord } from './record.js';
import { speaker } from './say.js';
import { search, ways } from './search.js';

export { type BuildRecord, type Libtorch, readBuildRecord, type Source } from './record.js';
export { SetupError } from './run.js';

/** Options of {@link setup}; the folders are for tests. */
export interface SetupOptions {
  /** No progress on stderr. What pip prints is still shown. */
  quiet?: boolean;
  native?: string;
  build?: string;
}

/**
 * Finds or gets libtorch and builds the addon against it. Does nothing, quickly, when the last set-up still
 * holds: the same libtorch, sources, Node and compiler.
 * @throws SetupError in words for the user.
 */
export async function setup(options: SetupOptions = {}): Promise<BuildRecord> {
  try {
    return await findAndBuild(options);
  } catch (error) {
    throw explainDiskError(error);
  }
}

async function findAndBuild({ quiet, native = nativeDir, build = buildDir() }: SetupOptions) {
  const say = speaker(quiet ? undefined : process.stderr);
  const compiler = findCompiler();
  const last = readBuildRecord(build);
  const kept = last && lookAgain(last.libtorch);
  if (last && kept && last.key === buildKey({ native, build, libtorch: kept, compiler })) return last;

  const libtorch = kept ?? (await search(ways, say));
  if (libtorch.cuda && !libtorch.cudaInclude) {
    say(
      "There are no headers of libtorch's version of CUDA: decoding on the GPU will not use CUDA graphs, and will be slower. " +
        'Install the CUDA toolkit, name it with CUDA_HOME, and run set-up again.',
    );
  }
  const input = { native, build, libtorch, compiler };
  const key = buildKey(input);
  const addon = await buildAddon(input, key, say);
  const { version, arch, versions } = process;
  const node = { version, modules: versions.modules, arch };
  const record = { addon, libtorch, compiler: compiler.version, node, key };
  writeBuildRecord(record, build);
  say(`libtorch ${libtorch.version} (${libtorch.source}: ${libtorch.root}) is ready.`);
  return record;
}

// Asking python3 takes seconds; looking at the folder that it named does not.
function lookAgain({ source, root }: Libtorch): Libtorch | undefined {
  const layout = inspectLayout(root);
  return 'why' in layout ? undefined : { source, ...layout };
}
