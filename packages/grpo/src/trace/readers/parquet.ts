/** The beginning of a Parquet table, as much as fits. */
import { openParquet, type ParquetFile, type ParquetRow } from '../../formats/parquet.js';

/**
 * The first rows of a Parquet file, as many as have about `limit` bytes when unpacked.
 *
 * @throws FormatError for a file that is none or is broken; FileError
 */
export async function readParquet(
  path: string,
  limit: number,
): Promise<{ rows: ParquetRow[]; bytes: number; total: number }> {
  using file = await openParquet(path);
  const { rowEnd, bytes } = within(file, limit);
  return { rows: await file.read(0, rowEnd), bytes, total: file.rows };
}

function within(file: ParquetFile, limit: number) {
  let rowEnd = 0;
  let bytes = 0;
  for (const group of file.groups) {
    const share = bytes + group.bytes > limit ? Math.max(0, limit - bytes) / group.bytes : 1;
    rowEnd += Math.floor(group.rows * share);
    bytes += group.bytes * share;
    if (share < 1) break;
  }
  return { rowEnd: Math.max(1, Math.min(rowEnd, file.rows)), bytes };
}
