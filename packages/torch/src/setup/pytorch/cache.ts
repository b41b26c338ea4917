import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../disk.js';
import { inspectLayout, type Layout, type Missing } from '../layout.js';
import { cacheDir } from '../paths.js';
import type { Say } from '../say.js';
import { installWithNode } from './node-wheel.js';
import { pinnedTorch } from './pinned.js';
import { hasNvidiaDriver, installWithPip } from './pip.js';

/**
 * The pinned PyTorch in the user's cache folder, put there when it is not: by pip, which knows the user's proxies
 * and mirrors, or else by Node itself.
 *
 * It is made aside and renamed, so that a broken install is never taken for one. When two clones install at
 * once the second rename fails, and its clone uses the winner's.
 */
export async function findCachedTorch(say: Say, cache = cacheDir()): Promise<Layout | Missing> {
  const home = join(cache, `torch-${pinnedTorch}-${process.platform}-${process.arch}`);
  const root = join(home, 'torch');
  const present = inspectLayout(root);
  if (!('why' in present)) return present;

  makeFolder(cache);
  removeAbandoned(cache);
  const aside = mkdtempSync(join(cache, `${asidePrefix()}${process.pid}-`));
  try {
    const failure = await install(aside, cache, say);
    if (failure) return failure;
    if (existsSync(home)) discardBroken(home, root, aside, present.why, say);
    return rename(join(aside, 'site'), home, root);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

async function install(aside: string, cache: string, say: Say): Promise<Missing | undefined> {
  const site = join(aside, 'site');
  const pip = (await installWithPip(site, aside, say)) ?? incomplete(site);
  if (!pip) return undefined;
  say(`pip cannot be used: ${pip.why}. Node downloads PyTorch itself.`);
  if (hasNvidiaDriver()) {
    say(
      `Node can only get the CPU build. For the GPU make pip work, remove ${cache}/torch-* and set up again.`,
    );
  }
  rmSync(site, { recursive: true, force: true });
  const node = (await installWithNode(site, aside, cache, say)) ?? incomplete(site);
  if (!node) return undefined;
  say(`Node could not either: ${node.why}.`);
  return { why: `with pip: ${pip.why}; with Node: ${node.why}` };
}

function incomplete(site: string): Missing | undefined {
  const made = inspectLayout(join(site, 'torch'));
  return 'why' in made ? made : undefined;
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

// Moves a broken PyTorch aside: it was not made by a rename, or someone deleted parts of it.
function discardBroken(home: string, root: string, aside: string, why: string, say: Say): void {
  if (!('why' in inspectLayout(root))) return;
  say(`The PyTorch in ${home} is incomplete (${why}); it is replaced.`);
  renameSync(home, join(aside, 'broken'));
}

function asidePrefix(): string {
  return `.making-torch-${hostname()}-`;
}

// A set-up that was killed leaves gigabytes behind; its process number tells that it is gone. Only what it had
// downloaded is kept.
function removeAbandoned(cache: string): void {
  for (const name of readdirSync(cache)) {
    if (!name.startsWith(asidePrefix()) || isRunning(Number.parseInt(name.slice(asidePrefix().length), 10)))
      continue;
    const folder = join(cache, name);
    for (const file of readdirSync(folder)) {
      if (file.endsWith('.part')) renameSync(join(folder, file), join(cache, file));
    }
    rmSync(folder, { recursive: true, force: true });
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
