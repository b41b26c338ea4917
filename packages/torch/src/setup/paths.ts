import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this package: `src/setup` and `dist/setup` lie equally deep in it. */
export const packageDir = fileURLToPath(new URL('../../', import.meta.url));

/** The addon's C++ sources. */
export const nativeDir = join(packageDir, 'native');

/** Built addons, one folder a key, and the records of what was found. */
export const buildDir = join(packageDir, 'build');

/** The user's cache folder of this product, shared by all clones. */
export function cacheDir(): string {
  const xdg = process.env.XDG_CACHE_HOME;
  // The XDG specification says that a relative path is to be ignored.
  if (xdg && isAbsolute(xdg)) return join(xdg, 'grpo');
  const base = process.platform === 'darwin' ? join('Library', 'Caches') : '.cache';
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
