import { statSync } from 'node:fs';
import { basename, dirname, relative, sep } from 'node:path';
import { onFile } from '../../../errors/file-error.js';
import { readableFiles } from '../../../trace/readers/readable-files.js';
import { STEP_JSON } from '../../../trace/write.js';

/** A file of a bundle. */
export interface BundleFile {
  /** The page's path to it: `/demo/steps/000002/step.json`. */
  path: string;
  /** Where it is. */
  file: string;
  /** In bytes. */
  size: number;
  /** Milliseconds since 1970. */
  modified: number;
}

/**
 * The files that a page of some paths needs, each below the name of its path.
 *
 * @param only - some of the files below a path; all that a reader may read when not given
 * @throws FileError
 */
export function bundleFiles(
  given: readonly { name: string; path: string; only?: readonly string[] }[],
): BundleFile[] {
  return given.flatMap(({ name, path, only }) => {
    // A record is a folder, also where one of its files was named.
    const root = basename(path) === STEP_JSON ? dirname(path) : path;
    return (only ?? readableFiles(root)).map((file) => {
      const { size, mtimeMs } = onFile('read', file, () => statSync(file));
      const below = file === root ? [] : relative(root, file).split(sep);
      return { path: ['', name, ...below].join('/'), file, size, modified: mtimeMs };
    });
  });
}
