import { closeSync, openSync } from 'node:fs';
import { onFile } from '../../errors/file-error.js';
import { readFully } from '../../formats/file-io.js';
import { requireFile } from '../../formats/read-file.js';

/** Reads a binary file piece by piece. */
export class FileBytes implements Disposable {
  readonly size: number;
  readonly #fd: number;

  constructor(private readonly path: string) {
    this.size = onFile('read', path, () => requireFile(path)).size;
    this.#fd = onFile('read', path, () => openSync(path, 'r'));
  }

  /** The bytes from a place on; fewer than asked for at the end of the file. */
  at(position: number, count: number): Buffer {
    const bytes = Buffer.alloc(Math.max(0, Math.min(count, this.size - position)));
    return bytes.subarray(
      0,
      onFile('read', this.path, () => readFully(this.#fd, bytes, position)),
    );
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}
