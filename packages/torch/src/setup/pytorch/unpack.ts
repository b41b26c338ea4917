import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Entry, openPromise } from 'yauzl';
import { isDiskError } from '../disk.js';
import type { Missing } from '../layout.js';
import type { Progress } from '../progress.js';

/** The C++ half of the wheel, the libraries that it brings along, and its licences. */
const wanted =
  /^torch\/(?:lib|include|\.dylibs)\/|^torch\/version\.py$|^torch\.libs\/|^torch-[^/]+\.dist-info\//;

/**
 * Unpacks what is needed of PyTorch's wheel, a zip file, below a folder. A name that leads out of the folder is
 * refused by yauzl, and with it the wheel.
 */
export async function unpackWheel(
  file: string,
  folder: string,
  progress: Progress,
): Promise<Missing | undefined> {
  try {
    const zip = await openPromise(file);
    let done = 0;
    for await (const entry of zip.eachEntry()) {
      progress.show(`${done++} of ${zip.entryCount} files are unpacked`);
      const { fileName } = entry;
      if (!wanted.test(fileName) || fileName.endsWith('/')) continue;
      const mode = modeOf(entry);
      const target = join(folder, fileName);
      await mkdir(dirname(target), { recursive: true });
      // A second file of one name would be written over the first: wx refuses it.
      await pipeline(
        await zip.openReadStreamPromise(entry),
        createWriteStream(target, { flags: 'wx', mode }),
      );
    }
    return undefined;
  } catch (error) {
    if (isDiskError(error)) throw error;
    return { why: `${file} cannot be unpacked: ${(error as Error).message}` };
  }
}

function modeOf({ fileName, externalFileAttributes }: Entry): number {
  const mode = externalFileAttributes >>> 16;
  const type = mode & 0o170000;
  // Wheels have no links; one could lead out of the folder.
  if (type !== 0 && type !== 0o100000) throw new Error(`${fileName} is not a plain file`);
  return (mode & 0o777) | 0o644;
}
