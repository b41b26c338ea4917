import { dirname } from 'pathe';
import type { Disk, DiskEntry } from './disk.js';
import { ask, Ranges } from './ranges.js';

/** Files of `grpo studio`, listed when they are asked for. */
export class HttpDisk implements Disk {
  readonly #folders = new Map<string, readonly DiskEntry[]>();
  readonly #asked = new Set<string>();
  readonly #files = new Ranges((path) => `/api/file?path=${encodeURIComponent(path)}`);

  list(folder: string): readonly DiskEntry[] | undefined {
    // An answer has the folders inside, too: who looks into one of many runs or steps looks into the others next.
    for (const path of [dirname(folder), folder]) {
      if (this.#folders.has(folder) || this.#asked.has(path)) continue;
      for (const [inside, entries] of Object.entries(listsFrom(path))) this.#folders.set(inside, entries);
      this.#asked.add(path);
    }
    return this.#folders.get(folder);
  }

  read(path: string, start: number, end: number): Uint8Array {
    return this.#files.read(path, start, end);
  }

  forget(paths?: readonly string[]): void {
    // A new server at the same address may have other files.
    const changed = paths?.includes('/') ? undefined : paths;
    const isChanged = (path: string) => changed?.includes(path) ?? true;
    for (const path of this.#folders.keys()) if (isChanged(path)) this.#folders.delete(path);
    // A folder that was not there may have come.
    for (const path of this.#asked) if (isChanged(path) || isChanged(dirname(path))) this.#asked.delete(path);
    this.#files.forget(changed);
  }
}

/** A folder and those in it, by path; empty where there is none. */
function listsFrom(folder: string): Readonly<Record<string, readonly DiskEntry[]>> {
  const request = ask(`/api/list?path=${encodeURIComponent(folder)}`, 'text');
  return request.status === 404 ? {} : JSON.parse(request.responseText);
}
