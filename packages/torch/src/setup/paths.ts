import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The folder of this package, also where it was loaded through a link: `src/setup` and `dist/setup` lie equally deep in it.
 */
export const packageDir = realpathSync(fileURLToPath(new URL('../../', import.meta.url)));

/** The addon's C++ sources. */
export const nativeDir = join(packageDir, 'native');

/**
 * Folder of built addons, one folder per key, and of the records of set-up: `build` in a clone. An installed
 * package has it in the user's cache, because `node_modules` may be read-only and is npm's to empty.
 */
export function buildDir(folder = packageDir): string {
  if (!folder.split(sep).includes('node_modules')) return join(folder, 'build');
  // An update puts other sources in the same place.
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  return join(cacheDir(), 'build', shortHash(`${folder} ${version}`));
}

/** The user's cache folder of this product, shared by all clones. */
export function cacheDir(platform = process.platform): string {
  const xdg = process.env.XDG_CACHE_HOME;
  // The XDG specification says that a relative path is to be ignored.
  if (xdg && isAbsolute(xdg)) return join(xdg, 'grpo');
  const base = platform === 'darwin' ? join('Library', 'Caches') : '.cache';
  return join(homedir(), base, 'grpo');
}

/** `LIBTORCH` as an absolute path, or undefined when it is unset or empty. */
export function libtorchVariable(): string | undefined {
  const value = process.env.LIBTORCH;
  return value ? resolve(value) : undefined;
}

/** The first 16 hexadecimal digits of SHA-256. */
export function shortHash(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
