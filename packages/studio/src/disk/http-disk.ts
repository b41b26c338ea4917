import type { Disk, DiskEntry } from './disk.js';
import { ask, Ranges } from './ranges.js';

/** Files of `grpo studio`, listed when they are asked for. */
export class HttpDisk implements Disk {
  readonly #folders = new Map<string, readonly DiskEntry[] | undefined>();
  readonly #files = new Ranges((path) => `/api/file?path=${encodeURIComponent(path)}`);

  list(folder: string): readonly DiskEntry[] | undefined {
    if (!this.#folders.has(folder)) this.#folders.set(folder, listingOf(folder));
    return this.#folders.get(folder);
  }

  read(path: string, start: number, end: number): Uint8Array {
    return this.#files.read(path, start, end);
  }

  forget(paths?: readonly string[]): void {
    // A new server at the same address may have other files.
    const changed = paths?.includes('/') ? undefined : paths;
    if (changed) for (const path of changed) this.#folders.delete(path);
    else this.#folders.clear();
    this.#files.forget(changed);
  }
}

function listingOf(folder: string): readonly DiskEntry[] | undefined {
  const request = ask(`/api/list?path=${encodeURIComponent(folder)}`, 'text');
  if (request.status === 404) return undefined;
  return JSON.parse(request.responseText) as DiskEntry[];
}
