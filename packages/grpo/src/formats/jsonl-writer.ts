import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync } from 'node:fs';
import { onFile } from '../errors/file-error.js';
import { readFully, writeFully } from './file-io.js';
import { jsonValue } from './json.js';

/**
 * Appends rows to a JSON Lines file, each in one write, so that whoever reads along sees whole rows. One
 * writer a file. NaN and infinities, which JSON lacks, are written as the strings `"NaN"`, `"Infinity"` and
 * `"-Infinity"`, never as null.
 */
export class JsonLinesWriter implements Disposable {
  #fd: number | undefined;

  /** Opens `path` for appending, or creates it. @throws FileError when the system refuses. */
  constructor(readonly path: string) {
    const fd = onFile('write', path, () => openSync(path, 'a+'));
    this.#fd = fd;
    try {
      onFile('write', path, () => repairTail(fd));
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  /** @throws FileError when the system refuses (the file then ends with the row before), TypeError for a row that JSON cannot hold. */
  append(row: object): void {
    const line = Buffer.from(`${this.#encode(row)}\n`, 'utf8');
    this.#withFile((fd) => {
      const { size } = fstatSync(fd);
      try {
        writeFully(fd, line);
      } catch (error) {
        // A disk may fill up in the middle of a row.
        if (fstatSync(fd).size !== size) ftruncateSync(fd, size);
        throw error;
      }
    });
  }

  /** Waits until every row is on the disk. */
  flush(): void {
    this.#withFile(fsyncSync);
  }

  /** Flushes and closes; a second call does nothing. */
  close(): void {
    if (this.#fd === undefined) return;
    try {
      this.flush();
    } finally {
      closeSync(this.#fd);
      this.#fd = undefined;
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #withFile(body: (fd: number) => void): void {
    const fd = this.#fd;
    if (fd === undefined) throw new Error(`${this.path} is closed; no row can be added`);
    onFile('write', this.path, () => body(fd));
  }

  #encode(row: object): string {
    try {
      return JSON.stringify(row, jsonValue);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new TypeError(`cannot write a row to ${this.path}: ${reason}`, { cause });
    }
  }
}

/** Makes the file end with a whole row and a newline: half a row that a killed writer left is cut off. */
function repairTail(fd: number): void {
  const { size } = fstatSync(fd);
  const tail = lastLine(fd, size);
  if (tail.length === 0) return;
  if (isJson(tail.toString('utf8'))) writeFully(fd, Buffer.from('\n'));
  else ftruncateSync(fd, size - tail.length);
}

/** The bytes after the file's last newline. */
function lastLine(fd: number, size: number): Buffer {
  let tail = Buffer.alloc(0);
  for (let length = 2 ** 16; ; length *= 4) {
    const start = Math.max(0, size - length);
    tail = Buffer.alloc(size - start);
    readFully(fd, tail, start);
    const newline = tail.lastIndexOf(0x0a);
    if (newline >= 0 || start === 0) return tail.subarray(newline + 1);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
