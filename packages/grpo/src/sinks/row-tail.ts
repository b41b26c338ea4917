import { closeSync, existsSync, openSync } from 'node:fs';
import { byteCount } from '../errors/byte-count.js';
import { onFile } from '../errors/file-error.js';
import { FormatError } from '../errors/format-error.js';
import { readFully } from '../formats/file-io.js';
import { MAX_LINE_BYTES, parseLine, type StepRow } from '../formats/jsonl.js';
import { stepOfRow } from '../trace/readers/step-of-row.js';

const NEWLINE = 0x0a;
/** Bytes that are read at once; a longer row is read in larger pieces. */
const PIECE = 2 ** 20;

/** The rows of a JSON Lines file that somebody else appends to, from a step on; a half-written row is not there yet. */
export class RowTail {
  #position = 0;
  #line = 0;
  #rows: StepRow[] = [];

  /** @param after - rows of this step and earlier ones are left out */
  constructor(
    private readonly path: string,
    private readonly after: number,
  ) {}

  /** The next row, which stays; undefined where the file has no more for now. */
  peek(): StepRow | undefined {
    if (this.#rows.length === 0) this.#read();
    return this.#rows[0];
  }

  /** Takes the rows up to a step, that one included. */
  takeThrough(step: number): StepRow[] {
    const taken: StepRow[] = [];
    for (let row = this.peek(); row && row.step <= step; row = this.peek()) {
      taken.push(row);
      this.#rows.shift();
    }
    return taken;
  }

  /** Reads on until there is a row, or the file ends. */
  #read(): void {
    if (!existsSync(this.path)) return;
    onFile('read', this.path, () => {
      const fd = openSync(this.path, 'r');
      try {
        for (let size = PIECE; this.#rows.length === 0; ) {
          const bytes = Buffer.alloc(size);
          const count = readFully(fd, bytes, this.#position);
          const end = bytes.subarray(0, count).lastIndexOf(NEWLINE) + 1;
          if (end === 0 && count < size) return;
          if (end === 0) size = this.#largerThan(size);
          this.#rows = this.#rowsIn(bytes.toString('utf8', 0, end));
          this.#position += end;
        }
      } finally {
        closeSync(fd);
      }
    });
  }

  #largerThan(size: number): number {
    if (size < MAX_LINE_BYTES) return Math.min(4 * size, MAX_LINE_BYTES);
    const line = this.#line + 1;
    throw new FormatError(
      this.path,
      `the row is longer than ${byteCount(MAX_LINE_BYTES)}: does another program write into this file?`,
      { line },
    );
  }

  #rowsIn(text: string): StepRow[] {
    return text.split('\n').flatMap((line) => {
      if (line === '') return [];
      this.#line++;
      // Of a long run that is resumed most rows are old: they are not parsed.
      const step = stepOfRow(line);
      if (step !== undefined && step <= this.after) return [];
      const row = parseLine(this.path, this.#line, line) as StepRow;
      return row.step <= this.after ? [] : [row];
    });
  }
}
