import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, extname, join, sep } from 'node:path';
import { type Compiler, compileFlags, findNodeHeaders, linkFlags } from './compiler.js';
import { makeFolder } from './disk.js';
import { whyOtherLibtorch } from './fit.js';
import type { Layout } from './layout.js';
import { cacheDir, shortHash } from './paths.js';
import { type Progress, withProgress } from './progress.js';
import { addonPath } from './record.js';
import { lastLine, run, SetupError } from './run.js';
import type { Say } from './say.js';

/** Sources of an addon, and the place that it goes to. */
export interface BuildInput {
  /** Folder of the C++ sources. */
  native: string;
  /** Folder that gets `<key>/torch.node`. */
  build: string;
  libtorch: Layout;
  compiler: Compiler;
}

/** How many sources are compiled at once: against libtorch each takes up to 1.5 GB of memory. */
export const compilations = (cores: number, bytes: number): number =>
  Math.max(1, Math.min(cores, Math.floor(bytes / 2e9)));

/** Hash of everything that the addon depends on: sources, flags, libtorch, Node, compiler. */
export function buildKey({ native, libtorch, compiler }: BuildInput): string {
  const files = sources(native, libtorch, ['.cc', '.h']);
  const parts = [
    files.map((name) => [name, shortHash(readFileSync(join(native, name)))]),
    [compileFlags(libtorch, compiler), linkFlags(libtorch)],
    [libtorch.root, libtorch.version, libtorch.stamp.size, libtorch.stamp.mtimeMs],
    // Not the headers' path: it lies in the clone, and clones share addons.
    [findNodeHeaders().version, process.versions.modules, process.platform, process.arch],
    [compiler.command, compiler.version],
  ];
  return shortHash(JSON.stringify(parts));
}

/**
 * Makes `<build>/<key>/torch.node` unless it is there (`key` is its {@link buildKey}): copied from the user's cache folder if another clone
 * has built the same, else compiled.
 * @throws SetupError with the command and the compiler's first lines.
 */
export async function buildAddon(
  input: BuildInput,
  key: string,
  say: Say,
  cache = cacheDir(),
): Promise<string> {
  const addon = addonPath(key, input.build);
  if (existsSync(addon)) return addon;
  const shared = join(cache, 'addon', `${key}.node`);
  if (existsSync(shared)) {
    place(shared, addon);
    return addon;
  }
  const { version, root } = input.libtorch;
  say(`Building the addon against libtorch ${version} (${root}); this takes minutes.`);
  const work = join(input.build, `making-${key}-${process.pid}`);
  makeFolder(work);
  try {
    const made = await withProgress(say, (progress) => compile(input, work, progress));
    await checkLoads(made, input.libtorch);
    place(made, addon);
    share(addon, shared, say);
    return addon;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function compile(
  { native, libtorch, compiler }: BuildInput,
  work: string,
  progress: Progress,
): Promise<string> {
  const queue = sources(native, libtorch, ['.cc']);
  if (queue.length === 0) throw new SetupError(`${native} has no C++ source (*.cc).`);
  const objectOf = (name: string) => join(work, `${name.replaceAll(sep, '-')}.o`);
  const objects = queue.map(objectOf);
  // Last: what stands in for Gloo's headers yields to Gloo's own.
  const includes = [`-I${findNodeHeaders().include}`, `-I${join(native, 'distributed')}`];
  const flags = [...compileFlags(libtorch, compiler), ...includes];
  let done = 0;
  const show = () => progress.show(`${done} of ${objects.length} files are compiled`);
  const worker = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      show();
      await runCompiler(compiler, [...flags, '-c', join(native, name), '-o', objectOf(name)]);
      done++;
      show();
    }
  };
  // A container's limit, where there is one, is lower than the machine's memory.
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  await Promise.all(Array.from({ length: compilations(availableParallelism(), memory) }, worker));
  const made = join(work, 'torch.node');
  progress.show('linking');
  await runCompiler(compiler, ['-o', made, ...objects, ...linkFlags(libtorch)]);
  return made;
}

async function runCompiler({ command }: Compiler, args: string[]): Promise<void> {
  const [program, ...first] = command;
  const { code, output } = await run(program!, [...first, ...args]);
  if (code === 0) return;
  const shown = output.trimEnd().split('\n').slice(0, 40).join('\n');
  const line = [...command, ...args].map((word) => (/[\s'"]/.test(word) ? `'${word}'` : word)).join(' ');
  throw new SetupError(`The addon does not compile. The command was:\n${line}\nIt said:\n${shown}`);
}

// In a process of its own: an addon that does not fit may take the process down.
async function checkLoads(addon: string, libtorch: Layout): Promise<void> {
  const load =
    'const m = { exports: {} }; process.dlopen(m, process.argv[1]); ' +
    'console.log(JSON.stringify([m.exports.version(), m.exports.buildConfiguration()]))';
  const { code, output } = await run(process.execPath, ['-e', load, addon]);
  if (code !== 0) {
    const reason = output.match(/^Error: .*$/m)?.[0] ?? output.trim();
    throw new SetupError(
      `The addon was built against libtorch ${libtorch.version} in ${libtorch.root} but Node cannot load it.\n${reason}`,
    );
  }
  const [version, configuration] = JSON.parse(lastLine(output)) as [string, string];
  const other = whyOtherLibtorch(version, configuration);
  if (other) throw new SetupError(`The addon cannot be used: ${other}.`);
}

// Copied beside its place and renamed, so that nobody ever loads half a file.
function place(from: string, to: string): void {
  const temporary = `${to}.${process.pid}`;
  makeFolder(dirname(to));
  copyFileSync(from, temporary);
  renameSync(temporary, to);
}

function share(addon: string, shared: string, say: Say): void {
  try {
    place(addon, shared);
  } catch (error) {
    // Other clones then build for themselves; this one has what it needs.
    say(`The addon could not be kept for other clones: ${(error as Error).message}`);
  }
}

// Two folders are of use with some libtorchs only.
function sources(native: string, { cudaInclude, processGroups }: Layout, endings: string[]): string[] {
  const left = [cudaInclude ? [] : ['cuda'], processGroups ? [] : ['distributed']].flat();
  return (readdirSync(native, { recursive: true }) as string[])
    .filter((name) => endings.includes(extname(name)) && !left.includes(name.split(sep)[0]!))
    .sort();
}
