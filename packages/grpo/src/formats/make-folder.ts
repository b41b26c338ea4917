import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { onFile } from '../errors/file-error.js';

/**
 * Makes a folder, and those above it, unless it is there. Node's own recursive form never returns in places where
 * no folder can be made, such as `/proc`.
 * @throws FileError when the system refuses, or there is a file of that name
 */
export function makeFolder(path: string): void {
  onFile('write', path, () => make(path, true));
}

function make(path: string, withParents: boolean): void {
  try {
    mkdirSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && withParents && dirname(path) !== path) {
      make(dirname(path), true);
      make(path, false);
    } else if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
