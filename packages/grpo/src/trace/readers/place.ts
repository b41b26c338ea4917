import { closeSync, openSync, readdirSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { onFile } from '../../errors/file-error.js';
import { FormatError } from '../../errors/format-error.js';
import { readFully } from '../../formats/file-io.js';
import { otherKind } from '../../formats/other-kind.js';
import { requireFile } from '../../formats/read-file.js';
import { Watch } from '../../progress/watch.js';
import { decoderOf, gunzipped, isGzip } from './encoding.js';

/** Enough to tell formats apart. */
const HEAD_BYTES = 2 ** 16;

/** What stands at a path, as far as recognising it takes. */
export interface Place {
  path: string;
  name: string;
  isFolder: boolean;
  /** Names in the folder, sorted; none for a file. */
  names: readonly string[];
  /** The beginning of the file as text; empty for a folder. */
  head: string;
  /** Hears how much of a large file has been read. */
  watch: Watch;
}

/** Files of bytes that have readers. */
const BINARY = /\btfevents\b|\.wandb$/;

/** What {@link Place.head} of a Parquet file begins with. */
export const PARQUET_MAGIC = 'PAR1';

/**
 * Looks at a path.
 *
 * @throws FileError where there is nothing, or the system refuses; FormatError for pipes, devices, packed and binary
 * files
 */
export function placeOf(path: string, watch = new Watch()): Place {
  const isFolder = onFile('read', path, () => statSync(path)).isDirectory();
  const name = basename(path);
  if (isFolder) {
    const names = onFile('read', path, () => readdirSync(path)).sort();
    return { path, name, isFolder, names, head: '', watch };
  }
  const bytes = headOf(path);
  const plain = isGzip(bytes) ? gunzipped(path, bytes) : bytes;
  const decoder = decoderOf(plain);
  const head = decoder.decode(plain);
  if (head.startsWith(LFS_POINTER)) throw missing(path);
  const isText = decoder.encoding !== 'utf-8';
  if (!isText && !BINARY.test(name) && !head.startsWith(PARQUET_MAGIC)) refuseBinary(path, plain);
  return { path, name, isFolder, names: [], head, watch };
}

function headOf(path: string): Uint8Array {
  return onFile('read', path, () => {
    requireFile(path);
    const fd = openSync(path, 'r');
    try {
      const bytes = new Uint8Array(HEAD_BYTES);
      return bytes.subarray(0, readFully(fd, bytes, 0));
    } finally {
      closeSync(fd);
    }
  });
}

/** How the stand-in for a large file begins that Git left out. */
export const LFS_POINTER = 'version https://git-lfs.github.com/spec/';

const missing = (path: string) =>
  new FormatError(path, 'a Git LFS pointer: the file itself was not fetched', {
    hint: 'Fetch it with `git lfs pull`, or download it from the page of the repository.',
  });

function refuseBinary(path: string, bytes: Uint8Array): void {
  const packed = otherKind(bytes);
  if (packed) throw new FormatError(path, `this is ${packed.name}; ${packed.remedy}`);
  // A crash of the machine can leave zeros at the end of a log, so a few are no proof.
  const zeros = bytes.reduce((count, byte) => count + Number(byte === 0), 0);
  if (zeros > bytes.length / 10)
    throw new FormatError(
      path,
      'this is a binary file; a log, a table of completions or a folder is expected',
    );
}
