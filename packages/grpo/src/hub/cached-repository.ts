/**
 * One repository in the cache that Hugging Face's tools share:
 *
 *     models--ORG--NAME/blobs/HASH                    a file's bytes
 *     models--ORG--NAME/snapshots/COMMIT/config.json  a link to them
 *     models--ORG--NAME/refs/main                     the commit that a branch or tag was when it was got
 */
import { readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { onFile } from '../errors/file-error.js';
import { writeFileAtomic } from '../formats/atomic-file.js';
import { makeFolder } from '../formats/make-folder.js';
import type { RemoteFile } from './listing.js';
import { isCommit, type Repository } from './repository.js';

/** Where a repository lies in the cache, and what it holds. */
export class CachedRepository {
  readonly folder: string;

  constructor(cache: string, { kind, name }: Repository) {
    this.folder = join(cache, `${kind}s--${name.replace('/', '--')}`);
  }

  get blobs(): string {
    return join(this.folder, 'blobs');
  }

  blob({ digest }: RemoteFile): string {
    return join(this.blobs, digest.hex);
  }

  snapshot(commit: string): string {
    return join(this.folder, 'snapshots', commit);
  }

  /** The commit that a branch or tag was when it was last got, or a commit itself; undefined when it was never. */
  commitOf(revision: string): string | undefined {
    if (isCommit(revision)) return isFolder(this.snapshot(revision)) ? revision : undefined;
    const file = join(this.folder, 'refs', revision);
    if (!statOf(file)?.isFile()) return undefined;
    const commit = onFile('read', file, () => readFileSync(file, 'utf8').trim());
    return isCommit(commit) && isFolder(this.snapshot(commit)) ? commit : undefined;
  }

  /** Writes down which commit a branch or tag is. */
  setRef(revision: string, commit: string): void {
    if (isCommit(revision)) return;
    const file = join(this.folder, 'refs', revision);
    makeFolder(dirname(file));
    writeFileAtomic(file, commit);
  }

  /** Whether a snapshot has a file, in its full size. */
  holds(commit: string, file: RemoteFile): boolean {
    return sizeOf(join(this.snapshot(commit), file.path)) === file.size;
  }

  /** Puts a file whose blob is there into a snapshot. */
  link(commit: string, file: RemoteFile): void {
    const path = join(this.snapshot(commit), file.path);
    const blob = this.blob(file);
    makeFolder(dirname(path));
    onFile('write', path, () => {
      rmSync(path, { force: true });
      try {
        symlinkSync(relative(dirname(path), blob), path);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        // Another process was as quick, and means the same file.
        if (code === 'EEXIST') return;
        // No links here (Windows without the right to, some file systems): the file itself, as Python's tools do it.
        if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw error;
        renameSync(blob, path);
      }
    });
  }
}

/** A file's size, at the end of its links; undefined where there is none. */
export function sizeOf(path: string): number | undefined {
  const found = statOf(path);
  return found?.isFile() ? found.size : undefined;
}

const isFolder = (path: string) => statOf(path)?.isDirectory() === true;

const statOf = (path: string) => onFile('read', path, () => statSync(path, { throwIfNoEntry: false }));
