/** Parquet in: tables that hubs keep datasets in, read one row group at a time. */
import { isUtf8 } from 'node:buffer';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { types } from 'node:util';
import { type FileMetaData, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { byteCount } from '../errors/byte-count.js';
import { onFile } from '../errors/file-error.js';
import { FormatError } from '../errors/format-error.js';
import { excerpt, printable } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import { readFully } from './file-io.js';
import { requireFile } from './read-file.js';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** The library's own decoder puts U+FFFD in place of bytes that are not UTF-8. */
const parsers = { stringFromBytes: (bytes: Uint8Array | undefined) => bytes && utf8.decode(bytes) };

/** Writers make a million; a broken file may claim any number, as equal values take no bytes. */
const MAX_GROUP_ROWS = 2 ** 24;

/** A row of a table as the file has it: 64-bit integers are bigint. */
export type ParquetRow = Record<string, unknown>;

/** An open Parquet file. */
export interface ParquetFile extends Disposable {
  /** Rows of the whole file. */
  rows: number;
  /** Its row groups, in order; `bytes` is the unpacked size that a group claims. */
  groups: readonly { rows: number; bytes: number }[];
  /** Rows from `start` up to `end`, counted from 0. @throws FormatError naming the column that is broken; FileError */
  read(start: number, end: number): Promise<ParquetRow[]>;
}

/**
 * Opens a Parquet file and reads its metadata.
 * @throws FormatError for a file that is none, is broken, or claims more than its size can hold; FileError
 */
export async function openParquet(path: string): Promise<ParquetFile> {
  onFile('read', path, () => requireFile(path));
  const fd = onFile('read', path, () => openSync(path, 'r'));
  try {
    const file = bufferOf(path, fd);
    const metadata = await decoded(path, UNREADABLE, () => parquetMetadataAsync(file));
    const groups = groupsOf(path, metadata, file.byteLength);
    const columns = columnsOf(metadata);
    const read = async (rowStart: number, rowEnd: number) => {
      const rows = Array.from({ length: rowEnd - rowStart }, (): ParquetRow => ({}));
      // One by one: of several that are broken the library lets a second failure end the process.
      for (const column of columns) {
        const source = { file, metadata, compressors, parsers, utf8: false, columns: [column] };
        const values = await decoded(
          path,
          `column ${excerpt(column)}, in rows ${rowStart + 1} to ${rowEnd}, cannot be read`,
          () => parquetReadObjects({ ...source, rowStart, rowEnd }),
        );
        if (values.length !== rows.length) {
          const problem = `column ${excerpt(column)} has ${values.length} of the ${rows.length} rows that the file announces`;
          throw new FormatError(path, problem);
        }
        for (const [i, row] of rows.entries()) row[column] = values[i]![column];
      }
      return rows;
    };
    return {
      rows: groups.reduce((sum, { rows }) => sum + rows, 0),
      groups,
      read,
      [Symbol.dispose]: () => closeSync(fd),
    };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * The rows of a Parquet file as JSON would have them: whole numbers as numbers, dates as ISO text. Holds one row group.
 * @throws FormatError with row and column, also for values that JSON lacks; FileError
 */
export async function* readParquetRows(path: string): AsyncGenerator<ParquetRow, void, undefined> {
  using file = await openParquet(path);
  let start = 0;
  for (const { rows } of file.groups) {
    const end = start + rows;
    for (const [i, row] of (await file.read(start, end)).entries()) {
      for (const [column, value] of Object.entries(row)) {
        const problem = (what: string) =>
          new FormatError(path, `column ${excerpt(column)} holds ${what}`, { line: start + i + 1 });
        row[column] = asJson(value, problem);
      }
      yield row;
    }
    start = end;
  }
}

function asJson(value: unknown, problem: (what: string) => FormatError): unknown {
  if (typeof value === 'bigint') {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    throw problem(`${value}, too large a number to be exact; write it as text`);
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw problem('a date out of all range');
    return value.toISOString();
  }
  if (value instanceof Uint8Array) {
    if (isUtf8(value)) return Buffer.from(value).toString('utf8');
    throw problem('bytes that are no UTF-8 text; write the file without that column');
  }
  if (Array.isArray(value)) return value.map((item) => asJson(item, problem));
  if (types.isTypedArray(value)) return Array.from<unknown>(value).map((item) => asJson(item, problem));
  if (value === undefined) return null;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asJson(item, problem)]));
}

function bufferOf(path: string, fd: number) {
  const byteLength = fstatSync(fd).size;
  return {
    byteLength,
    // Asynchronous, so that the library handles its errors.
    async slice(start: number, end = byteLength): Promise<ArrayBuffer> {
      const bytes = new Uint8Array(Math.max(0, Math.min(end, byteLength) - start));
      const count = onFile('read', path, () => readFully(fd, bytes, start));
      return bytes.buffer.slice(0, count);
    },
  };
}

/** Checks the sizes that a file claims: a broken file's would be allocated. */
function groupsOf(path: string, { row_groups }: FileMetaData, size: number) {
  return row_groups.map(({ total_byte_size, num_rows }) => {
    const bytes = Number(total_byte_size);
    const rows = Number(num_rows);
    if (!(bytes >= 0 && bytes <= 1000 * size + 2 ** 20))
      throw new FormatError(path, `its ${byteCount(size)} claim to unpack to ${byteCount(bytes)}`);
    if (!(rows >= 0 && rows <= MAX_GROUP_ROWS))
      throw new FormatError(path, `a part of it claims to have ${rows} rows`);
    return { rows, bytes };
  });
}

/** Names of the top level, of which each may have several columns of its own below. */
function columnsOf({ row_groups: [group] }: FileMetaData): string[] {
  const names = group?.columns.flatMap(({ meta_data: about }) => about?.path_in_schema[0] ?? []) ?? [];
  return [...new Set(names)];
}

const UNREADABLE = 'not a readable Parquet file';

/** Runs the library and turns its errors, of any kind, into errors of the file. */
async function decoded<T>(path: string, problem: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FormatError(path, `${problem}: ${printable(reason, 200)}`, { cause });
  }
}
