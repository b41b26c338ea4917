import { closeSync, fsyncSync, openSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { onFile } from '../errors/file-error.js';
import { discard, syncFolder, temporaryPath } from './atomic-file.js';
import { writeFully } from './file-io.js';
import { jsonValue } from './json.js';

/** Text is handed to the system in pieces of about this many characters. */
const PIECE = 2 ** 18;

/**
 * Writes a JSON Lines file, row by row as they come. It is there whole or not at all: an error, in reading the rows,
 * too, leaves the earlier file as it was.
 *
 * @param before - called when all is written, and before the file takes its place
 * @returns how many rows
 * @throws FileError when the system refuses
 */
export async function writeRows(
  path: string,
  rows: AsyncIterable<object> | Iterable<object>,
  before: () => void = () => undefined,
): Promise<number> {
  const temporary = temporaryPath(dirname(path));
  let fd: number | undefined = onFile('write', path, () => openSync(temporary, 'wx'));
  const open = fd;
  const put = (text: string) => onFile('write', path, () => writeFully(open, Buffer.from(text, 'utf8')));
  try {
    let count = 0;
    let text = '';
    for await (const row of rows) {
      text += `${JSON.stringify(row, jsonValue)}\n`;
      count++;
      if (text.length < PIECE) continue;
      put(text);
      text = '';
    }
    put(text);
    onFile('write', path, () => {
      fsyncSync(open);
      fd = undefined;
      closeSync(open);
    });
    before();
    onFile('write', path, () => renameSync(temporary, path));
    syncFolder(dirname(path));
    return count;
  } catch (error) {
    discard(temporary, fd);
    throw error;
  }
}
