import { gunzipSync } from 'fflate';
import type { Disk, DiskEntry } from './disk.js';
import type { Ranges } from './ranges.js';

/** A file that the page has, in memory or by range. */
export interface HeldFile {
  path: string;
  size: number;
  modified: number;
  read(start: number, end: number): Uint8Array;
}

/** Files that the page has already: those of a bundle, or dropped ones. */
export class MemoryDisk implements Disk {
  readonly #files: ReadonlyMap<string, HeldFile>;
  readonly #folders = new Map<string, Map<string, DiskEntry>>([['/', new Map()]]);

  constructor(files: readonly HeldFile[]) {
    this.#files = new Map(files.map((file) => [file.path, file]));
    for (const { path, size, modified } of files) {
      const names = path.split('/').slice(1);
      let folder = '';
      for (const [depth, name] of names.entries()) {
        const isFolder = depth < names.length - 1;
        const entries = this.#folders.get(folder || '/')!;
        if (!entries.has(name)) entries.set(name, { name, isFolder, size: isFolder ? 0 : size, modified });
        folder += `/${name}`;
        if (isFolder && !this.#folders.has(folder)) this.#folders.set(folder, new Map());
      }
    }
  }

  list(folder: string): readonly DiskEntry[] | undefined {
    const entries = this.#folders.get(folder);
    return entries && [...entries.values()];
  }

  read(path: string, start: number, end: number): Uint8Array {
    const file = this.#files.get(path)!;
    return file.read(start, Math.min(end, file.size));
  }

  forget(): void {}
}

/** A file of a bundle, from base64 of gzip when it is first read. */
export function heldText(path: string, size: number, modified: number, text: string): HeldFile {
  let bytes: Uint8Array | undefined;
  return {
    path,
    size,
    modified,
    read: (start, end) => {
      bytes ??= gunzipSync(Buffer.from(text, 'base64'), { out: new Uint8Array(size) });
      return bytes.subarray(start, end);
    },
  };
}

/** A file beside the page of a bundle. */
export const besideFile = (path: string, size: number, modified: number, files: Ranges): HeldFile => ({
  path,
  size,
  modified,
  read: (start, end) => files.read(path, start, end),
});

/** A dropped file is read piece by piece, when it is asked for. */
export const heldFile = (path: string, file: File): HeldFile => ({
  path,
  size: file.size,
  modified: file.lastModified,
  read: (start, end) => new Uint8Array(new FileReaderSync().readAsArrayBuffer(file.slice(start, end))),
});

/** Only workers have it, and the types of pages leave it out. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}
