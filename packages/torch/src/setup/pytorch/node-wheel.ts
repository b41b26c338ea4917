import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Missing } from '../layout.js';
import { withProgress } from '../progress.js';
import type { Say } from '../say.js';
import { download, unreachable } from './download.js';
import { cpuIndex, defaultIndex, indexVariable } from './pinned.js';
import { chooseWheel, type IndexFile, readIndexPage } from './simple-index.js';
import { unpackWheel } from './unpack.js';

const pageMilliseconds = 30_000;

/**
 * Gets PyTorch's wheel without Python: finds it in a package index, downloads it and unpacks it to `site`.
 * @param aside a folder of this process, on the file system of `cache`
 * @param cache keeps what has arrived of a download that failed, for the next time
 */
export async function installWithNode(
  site: string,
  aside: string,
  cache: string,
  say: Say,
): Promise<Missing | undefined> {
  if (isMusl()) return { why: "PyTorch's wheels need glibc, which this Linux does not have" };
  const index = indexVariable() ?? (process.platform === 'linux' ? cpuIndex : defaultIndex);
  if (!/^https?:\/\/[^/@]+(\/|$)/.test(index)) {
    return { why: 'GRPO_TORCH_INDEX must begin with http:// or https://, and hold no password' };
  }
  const wheel = await findWheel(`${index}/torch/`);
  if ('why' in wheel) return wheel;
  say(`Downloading ${wheel.name}, once for all clones.`);
  // Claimed by a rename: of two set-ups at once only one goes on with it.
  const part = `${wheel.name}.${wheel.sha256.slice(0, 16)}.part`;
  const [kept, file] = [join(cache, part), join(aside, part)];
  if (existsSync(kept)) renameSync(kept, file);
  try {
    const failure = await download(wheel.url, file, { sha256: wheel.sha256, say });
    if (failure) return failure;
    say('Unpacking it.');
    const broken = await withProgress(say, (progress) => unpackWheel(file, site, progress));
    rmSync(file);
    return broken;
  } finally {
    if (existsSync(file)) renameSync(file, kept);
  }
}

async function findWheel(page: string): Promise<Required<IndexFile> | Missing> {
  let html: string;
  let address: string;
  try {
    const signal = AbortSignal.timeout(pageMilliseconds);
    const response = await fetch(page, { headers: { accept: 'text/html' }, signal });
    if (!response.ok) return { why: `${page} answers ${response.status} ${response.statusText}` };
    html = await response.text();
    // Links are relative to where the page was found in the end.
    address = response.url;
  } catch (error) {
    return { why: unreachable(page, error) };
  }
  const wheel = chooseWheel(readIndexPage(html, address));
  return 'why' in wheel ? { why: `${page}: ${wheel.why}` } : wheel;
}

function isMusl(): boolean {
  if (process.platform !== 'linux') return false;
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined;
}
