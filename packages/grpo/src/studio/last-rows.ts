import { isObject } from '../formats/json.js';
import { FileBytes } from '../trace/readers/file-bytes.js';
import { literal } from '../trace/readers/literal.js';

/** The whole rows in the last bytes of a JSON Lines file: the first may begin before them, the last may be half written. */
export function lastRows(path: string, bytes: number): Record<string, unknown>[] {
  using file = new FileBytes(path);
  // Many runs have no findings: a disk that is a server's is not asked.
  if (file.size === 0) return [];
  const start = Math.max(0, file.size - bytes);
  const lines = new TextDecoder().decode(file.at(start, bytes)).split('\n');
  return lines.slice(start > 0 ? 1 : 0).flatMap((line) => {
    const row = line === '' ? undefined : literal(line);
    return isObject(row) ? [row] : [];
  });
}
