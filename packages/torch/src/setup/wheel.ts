import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { inspectLayout, type Layout, type Missing } from './layout.js';
import { cacheDir } from './paths.js';
import { findPip } from './python.js';
import { run, type Say } from './run.js';

/** The wheel that everything is tested with. */
export const pinnedTorch = '2.13.0';

/**
 * The pinned wheel in the user's cache folder, installed there by pip when it is not.
 *
 * It is made aside and renamed, so that a broken install is never taken for one. When two clones install at
 * once the second rename fails, and its clone uses the winner's.
 */
export async function findCachedTorch(say: Say, cache = cacheDir()): Promise<Layout | Missing> {
  const home = join(cache, `torch-${pinnedTorch}-${process.platform}-${process.arch}`);
  const root = join(home, 'torch');
  const present = inspectLayout(root);
  if (!('why' in present)) return present;

  mkdirSync(cache, { recursive: true });
  removeAbandoned(cache);
  const aside = mkdtempSync(join(cache, `${asidePrefix()}${process.pid}-`));
  try {
    const failure = await install(aside, say);
    if (failure) return failure;
    if (existsSync(home)) discardBroken(home, root, aside, present.why, say);
    return rename(join(aside, 'site'), home, root);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

async function install(aside: string, say: Say): Promise<Missing | undefined> {
  // pip unpacks in TMPDIR before it moves: on another, small file system a CUDA wheel would not fit.
  const temporary = join(aside, 'tmp');
  const site = join(aside, 'site');
  mkdirSync(temporary, { recursive: true });
  const pip = await findPip(join(aside, 'venv'));
  if ('why' in pip) return pip;
  say(`Getting PyTorch ${pinnedTorch} with pip, once for all clones; this may take minutes.`);
  const [python, ...args] = pip;
  args.push('install', '--disable-pip-version-check', '--no-warn-script-location', '--no-compile');
  args.push('--target', site);
  // A user's settings for ordinary installs would be refused together with --target.
  const env = {
    TMPDIR: temporary,
    PIP_USER: '0',
    PIP_REQUIRE_VIRTUALENV: '0',
    PIP_ROOT_USER_ACTION: 'ignore',
  };
  let code: number | null = null;
  for (const wanted of wheels()) {
    ({ code } = await run(python!, [...args, ...wanted], { env, show: true }));
    if (code === 0) break;
    rmSync(site, { recursive: true, force: true });
  }
  if (code !== 0) return { why: `pip could not install torch==${pinnedTorch} (its message is above)` };
  const made = inspectLayout(join(site, 'torch'));
  return 'why' in made ? made : undefined;
}

/** What pip is asked for, in order: without an NVIDIA driver the CPU build first, a tenth of the default's size. */
export function wheels(
  platform: NodeJS.Platform = process.platform,
  hasNvidia = existsSync('/proc/driver/nvidia/version'),
): string[][] {
  const standard = [`torch==${pinnedTorch}`];
  if (platform !== 'linux' || hasNvidia) return [standard];
  const cpu = [`torch==${pinnedTorch}+cpu`, '--extra-index-url', 'https://download.pytorch.org/whl/cpu'];
  return [[...cpu, '--retries', '1', '--timeout', '30'], standard];
}

function rename(site: string, home: string, root: string): Layout | Missing {
  try {
    renameSync(site, home);
  } catch (error) {
    // Another clone may have been quicker; then its install is as good as ours.
    if ('why' in inspectLayout(root)) throw error;
  }
  return inspectLayout(root);
}

// What stands there now was not made by a rename, or someone deleted parts of it.
function discardBroken(home: string, root: string, aside: string, why: string, say: Say): void {
  if (!('why' in inspectLayout(root))) return;
  say(`The PyTorch in ${home} is not whole (${why}); it is replaced.`);
  renameSync(home, join(aside, 'broken'));
}

function asidePrefix(): string {
  return `.making-torch-${hostname()}-`;
}

// A set-up that was killed leaves gigabytes behind; its process number tells that it is gone.
function removeAbandoned(cache: string): void {
  for (const name of readdirSync(cache)) {
    if (!name.startsWith(asidePrefix()) || isRunning(Number.parseInt(name.slice(asidePrefix().length), 10)))
      continue;
    rmSync(join(cache, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, for another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
