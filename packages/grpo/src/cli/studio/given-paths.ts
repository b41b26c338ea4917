import { realpathSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { UserError } from '../../config/index.js';
import { onFile } from '../../errors/file-error.js';
import { isName } from './server/virtual-path.js';

/** A file or folder that may be read, with all below it. */
export interface GivenPath {
  /** Its name on the page; no two have the same. */
  name: string;
  /** Its real path when the server began: where a link leads later does not matter. */
  path: string;
}

/**
 * Names the paths of a command line for the page. A path that was given twice is there once.
 *
 * @throws UserError for what is neither a file nor a folder
 */
export function givenPaths(paths: readonly string[]): GivenPath[] {
  const given: GivenPath[] = [];
  for (const written of paths) {
    const path = onFile('read', written, () => realpathSync.native(written));
    if (given.some((other) => other.path === path)) continue;
    const stat = onFile('read', written, () => statSync(path));
    if (!stat.isFile() && !stat.isDirectory())
      throw new UserError(`${written} is neither a file nor a folder`);
    given.push({ name: freeName(written, given), path });
  }
  return given;
}

function freeName(written: string, given: readonly GivenPath[]): string {
  const base = basename(resolve(written));
  const name = isName(base) ? base : base.replaceAll('\\', '_') || 'root';
  const isTaken = (candidate: string) => given.some((other) => other.name === candidate);
  let free = name;
  for (let count = 2; isTaken(free); count++) free = `${name}-${count}`;
  return free;
}
