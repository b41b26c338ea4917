import { statSync } from 'node:fs';
import { basename, dirname, relative, sep } from 'node:path';
import { onFile } from '../../../errors/file-error.js';
import { UserError } from '../../../errors/user-error.js';
import { readableFiles } from '../../../trace/readers/readable-files.js';
import { holdsToken } from '../../../trace/readers/trl/training-args.js';
import { STEP_JSON } from '../../../trace/write.js';

const TRAINING_ARGS = 'training_args.bin';

/** A file of a bundle. */
export interface BundleFile {
  /** The page's path to it: `/demo/steps/000002/step.json`. */
  path: string;
  /** Its path on this machine. */
  file: string;
  /** In bytes. */
  size: number;
  /** Milliseconds since 1970. */
  modified: number;
}

/**
 * The files that a page of some paths needs, each below the name of its path.
 *
 * @param note - told what is left out
 * @param only - some of the files below a path; all that a reader may read when not given
 * @throws FileError
 */
export function bundleFiles(
  given: readonly { name: string; path: string; only?: readonly string[] }[],
  note: (text: string) => void,
): BundleFile[] {
  return given.flatMap(({ name, path, only }) => {
    // A record is a folder, also where one of its files was named.
    const root = basename(path) === STEP_JSON ? dirname(path) : path;
    const files = (only ?? readableFiles(root)).filter((file) => mayBeShared(file, note));
    return files.map((file) => {
      const { size, mtimeMs } = onFile('read', file, () => statSync(file));
      const below = file === root ? [] : relative(root, file).split(sep);
      return { path: ['', name, ...below].join('/'), file, size, modified: mtimeMs };
    });
  });
}

/** A bundle is given to others, and the settings of a run of transformers may hold the token of its user. */
function mayBeShared(file: string, note: (text: string) => void): boolean {
  if (basename(file) !== TRAINING_ARGS) return true;
  const reason = reasonAgainst(file);
  if (reason !== undefined) note(`${file} ${reason}: the page is without it, and without these settings.`);
  return reason === undefined;
}

function reasonAgainst(file: string): string | undefined {
  try {
    return holdsToken(file) ? 'holds a token (hub_token)' : undefined;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return 'cannot be read, and may hold a token';
  }
}
