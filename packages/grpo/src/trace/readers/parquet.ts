import { closeSync, fstatSync, openSync } from 'node:fs';
import { type FileMetaData, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { byteCount } from '../../formats/byte-count.js';
import { FileError, onFile } from '../../formats/file-error.js';
import { readFully } from '../../formats/file-io.js';
import { FormatError } from '../../formats/format-error.js';
import { requireFile } from '../../formats/read-file.js';

/** Rows of a table, as plain objects. */
export type ParquetRow = Record<string, unknown>;

/**
 * The first rows of a Parquet file, as many as have about `limit` bytes when unpacked.
 *
 * @throws FormatError for a file that is none or is broken; FileError
 */
export async function readParquet(
  path: string,
  limit: number,
): Promise<{ rows: ParquetRow[]; bytes: number; total: number }> {
  onFile('read', path, () => requireFile(path));
  const fd = onFile('read', path, () => openSync(path, 'r'));
  try {
    const file = bufferOf(path, fd);
    const metadata = await parquetMetadataAsync(file);
    const { rowEnd, bytes } = within(path, metadata, file.byteLength, limit);
    const rows = await parquetReadObjects({ file, metadata, compressors, rowEnd });
    return { rows: rows as ParquetRow[], bytes, total: Number(metadata.num_rows) };
  } catch (cause) {
    if (cause instanceof FileError || cause instanceof FormatError) throw cause;
    // The library throws whatever its decoders run into.
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FormatError(path, `not a readable Parquet file: ${reason.slice(0, 200)}`, { cause });
  } finally {
    closeSync(fd);
  }
}

function bufferOf(path: string, fd: number) {
  const byteLength = fstatSync(fd).size;
  return {
    byteLength,
    slice(start: number, end = byteLength): ArrayBuffer {
      const bytes = new Uint8Array(Math.max(0, Math.min(end, byteLength) - start));
      const count = onFile('read', path, () => readFully(fd, bytes, start));
      return bytes.buffer.slice(0, count);
    },
  };
}

/** How many rows are within the limit. What a broken file claims must not be believed: it would be allocated. */
function within(path: string, { num_rows, row_groups }: FileMetaData, size: number, limit: number) {
  let rows = 0;
  let bytes = 0;
  for (const group of row_groups) {
    const unpacked = Number(group.total_byte_size);
    if (unpacked > 1000 * size + limit || unpacked < 0)
      throw new FormatError(path, `its ${byteCount(size)} claim to unpack to ${byteCount(unpacked)}`);
    const share = bytes + unpacked > limit ? Math.max(0, limit - bytes) / unpacked : 1;
    rows += Math.floor(Number(group.num_rows) * share);
    bytes += unpacked * share;
    if (share < 1) break;
  }
  return { rowEnd: Math.max(1, Math.min(rows, Number(num_rows))), bytes };
}
