import { statfsSync } from 'node:fs';

/** Free bytes of the disk that a folder is on; undefined where the system does not tell. */
export function freeBytes(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    // Some file systems have no such number: what is written then tells.
    return undefined;
  }
}
