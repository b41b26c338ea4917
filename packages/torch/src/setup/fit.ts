import { type Stats, statSync } from 'node:fs';
import type { Libtorch } from './record.js';

/** Why an addon built against this libtorch must not be loaded now, as the start of a sentence; undefined if it may. */
export function whyReplaced({ root, version, stamp }: Pick<Libtorch, 'root' | 'version' | 'stamp'>) {
  const built = `the libtorch ${version} in ${root}, which the addon was built against,`;
  let found: Stats | undefined;
  try {
    found = statSync(stamp.file, { throwIfNoEntry: false });
  } catch (error) {
    // Of another user's cache, for one.
    return `${built} cannot be read (${(error as Error).message})`;
  }
  if (!found) return `${built} is gone`;
  const { size, mtimeMs } = found;
  if (size === stamp.size && mtimeMs === stamp.mtimeMs) return undefined;
  return `the libtorch in ${root} was replaced after the addon was built against its version ${version}`;
}

/**
 * Why an addon did not load, as {@link whyReplaced}, and what to do about it.
 * @param reason what the dynamic linker says
 */
export function whyNotLoaded({ root, version }: Pick<Libtorch, 'root' | 'version'>, reason: string): string {
  const cure = process.env.LD_LIBRARY_PATH
    ? 'LD_LIBRARY_PATH is set: where it leads to another libtorch, unset it. Otherwise run: npx grpo setup'
    : 'Run: npx grpo setup';
  return (
    `the libtorch addon does not load (${reason.split('\n')[0]}). ` +
    `It was built for libtorch ${version} in ${root}. ${cure}`
  );
}

/**
 * Why a loaded addon must not be used, as {@link whyReplaced}: the dynamic linker found another libtorch than the one
 * that it was built against. `LD_LIBRARY_PATH` goes before the path in the addon.
 * @param built version of the headers
 * @param configuration libtorch's own description of its build
 */
export function whyOtherLibtorch(built: string, configuration: string): string | undefined {
  const loaded = configuration.match(/TORCH_VERSION=([\d.]+)/)?.[1];
  if (loaded === undefined || loaded === built) return undefined;
  return `it was built against libtorch ${built}, but libtorch ${loaded} was loaded (does LD_LIBRARY_PATH lead there?)`;
}
