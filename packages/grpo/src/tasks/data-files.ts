import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../errors/file-error.js';
import { EmptyFile } from '../errors/format-error.js';

const ROWS = /\.(jsonl|json|ndjson|parquet)$/i;

/**
 * The files of rows that a path stands for: itself, or, of a folder, those in it, by name.
 *
 * @throws EmptyFile for a folder without any; FileError
 */
export function dataFiles(path: string): string[] {
  if (!onFile('read', path, () => statSync(path).isDirectory())) return [path];
  const files = onFile('read', path, () => readdirSync(path))
    .filter((name) => ROWS.test(name))
    .sort()
    .map((name) => join(path, name));
  if (files.length === 0)
    throw new EmptyFile(path, 'the folder has no file of rows: none is named .jsonl, .json or .parquet');
  return files;
}
