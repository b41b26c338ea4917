/** Rows of data, in whichever form they come: JSON Lines, a JSON array or Parquet. */
import { closeSync, openSync, statSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { byteCount } from '../errors/byte-count.js';
import { onFile } from '../errors/file-error.js';
import { EmptyFile, FormatError } from '../errors/format-error.js';
import { excerpt } from '../errors/printable.js';
import { readFully } from './file-io.js';
import { describeJson, isObject } from './json.js';
import { readJsonArray } from './json-array.js';
import { type JsonLine, readJsonLines } from './jsonl.js';
import { openParquet, readParquetRows } from './parquet.js';
import { requireFile } from './read-file.js';

/** A row: its values by key. */
export type Row = Record<string, unknown>;

/** The form of a file of rows. */
export type RowForm = 'JSON Lines' | 'JSON array' | 'Parquet';

/** Where rows were read from. */
const places = new WeakMap<object, string>();

/** File and line of a row that `streamRows` read, of a Parquet file the row: `train.jsonl:12`; undefined for any other. */
export const placeOf = (row: unknown): string | undefined =>
  typeof row === 'object' && row !== null ? places.get(row) : undefined;

/** White space before the bracket of an array is looked through this far. */
const HEAD_BYTES = 4096;

/**
 * Tells the form of a file by its beginning.
 * @throws FormatError for a file that is named .parquet and is none; FileError
 */
export function formOf(path: string): RowForm {
  const head = onFile('read', path, () => {
    requireFile(path);
    const fd = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(HEAD_BYTES);
      return bytes.subarray(0, readFully(fd, bytes, 0)).toString('latin1');
    } finally {
      closeSync(fd);
    }
  });
  if (head.startsWith('PAR1')) return 'Parquet';
  if (/\.parquet$/i.test(path)) {
    const problem = `it is named .parquet and is not a Parquet file; it begins ${excerpt(head.slice(0, 40))}`;
    throw new FormatError(path, problem);
  }
  return /^(?:\xEF\xBB\xBF)?\s*\[/.test(head) ? 'JSON array' : 'JSON Lines';
}

/**
 * Yields the rows of a file, of which it holds little at a time.
 * @throws FormatError naming file and line (of a Parquet file, the row), also when a row is not an object; FileError
 */
export async function* streamRows(path: string): AsyncGenerator<JsonLine<Row>, void, undefined> {
  for await (const row of rowsIn(path)) {
    places.set(row.value, `${path}:${row.line}`);
    yield row;
  }
}

async function* rowsIn(path: string): AsyncGenerator<JsonLine<Row>, void, undefined> {
  const form = formOf(path);
  if (form === 'Parquet') {
    let line = 0;
    for await (const value of readParquetRows(path)) yield { line: ++line, value };
    return;
  }
  for await (const { line, value } of form === 'JSON array' ? readJsonArray(path) : readJsonLines(path)) {
    if (!isObject(value)) {
      const problem = `a row must be a JSON object such as {"key": "value"}, found ${describeJson(value)}`;
      throw new FormatError(path, problem, { line });
    }
    yield { line, value };
  }
}

/**
 * All rows of a file.
 * @throws EmptyFile when there is no row; FormatError as {@link streamRows}, and for more than fits into memory
 */
export async function readRows(path: string): Promise<JsonLine<Row>[]> {
  await requireMemory(path);
  const rows: JsonLine<Row>[] = [];
  for await (const row of streamRows(path)) rows.push(row);
  if (rows.length === 0) throw new EmptyFile(path, 'the file has no rows; put one JSON object on each line');
  return rows;
}

/** Rows take at least as much as their text does: without asking, Node would end in the middle of reading. */
async function requireMemory(path: string): Promise<void> {
  const size = await unpackedBytes(path);
  const limit = getHeapStatistics().heap_size_limit;
  if (size < limit) return;
  throw new FormatError(
    path,
    `its ${byteCount(size)} of rows do not fit into the ${byteCount(limit)} of memory that Node allows itself`,
    { hint: 'Use a part of the file, or raise the limit: NODE_OPTIONS=--max-old-space-size=MEGABYTES.' },
  );
}

async function unpackedBytes(path: string): Promise<number> {
  if (formOf(path) !== 'Parquet') return onFile('read', path, () => statSync(path).size);
  using file = await openParquet(path);
  return file.groups.reduce((sum, { bytes }) => sum + bytes, 0);
}
