/** Source of the page's files: a server, the page itself, or dropped files. */

export interface DiskEntry {
  name: string;
  isFolder: boolean;
  /** Bytes. */
  size: number;
  /** Milliseconds since 1970. */
  modified: number;
}

/** Files by paths such as `/runs/demo/metrics.jsonl`; read synchronously, in a worker. */
export interface Disk {
  /** Entries of a folder; undefined where there is no folder. */
  list(folder: string): readonly DiskEntry[] | undefined;
  /** Bytes from `start` to before `end`, fewer at the end of the file. */
  read(path: string, start: number, end: number): Uint8Array;
  /** Forgets the files that have changed; everything when no paths are given. */
  forget(paths?: readonly string[]): void;
}

let mounted: Disk | undefined;

export function mount(disk: Disk): void {
  mounted = disk;
}

export function disk(): Disk {
  if (!mounted) throw new Error('no files yet');
  return mounted;
}
