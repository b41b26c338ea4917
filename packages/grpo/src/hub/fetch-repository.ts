import { renameSync, rmSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { byteCount } from '../errors/byte-count.js';
import { onFile } from '../errors/file-error.js';
import { UserError } from '../errors/user-error.js';
import { syncFolder } from '../formats/atomic-file.js';
import { makeFolder } from '../formats/make-folder.js';
import { CachedRepository, sizeOf } from './cached-repository.js';
import { digestOf } from './checksum.js';
import type { Connection } from './connection.js';
import { listRepository, type RemoteFile } from './listing.js';
import { listNames, missingFiles } from './model-folder.js';
import { claimPartial, releasePartial } from './partial.js';
import { fetchCommand, type Repository } from './repository.js';
import { isWeights, selectFiles } from './select.js';
import { transfer } from './transfer.js';

/** What to get. */
export interface FetchRequest extends Repository {
  /** A branch, a tag or a commit. */
  revision: string;
  /** Names of files, with `*` and `?`; empty for what a model needs to be loaded, or a dataset's data. */
  patterns: readonly string[];
}

/** What a fetch tells whoever watches it. */
export interface FetchWatcher {
  /** What is about to be got. */
  planned?(plan: { commit: string; files: number; bytes: number; missingBytes: number }): void;
  progress?(file: RemoteFile, received: number): void;
  /** A file is in the cache, whole and checked, or was there already. */
  done?(file: RemoteFile, how: 'fetched' | 'present'): void;
}

/**
 * Reads a model's folder that has everything but the weights.
 *
 * @throws UserError: it cannot be loaded
 */
export type JudgeModel = (folder: string) => void;

/** What there is afterwards. */
export interface FetchedRepository {
  commit: string;
  /** The snapshot, with the files in it. */
  folder: string;
  /** Their paths in it. */
  files: string[];
}

/**
 * Brings a model or a dataset into the cache. A file is there under its name only when it is whole and its checksum is
 * right, and the branch points to the commit only when all files are; what an interrupted fetch brought is gone on with.
 *
 * @param judge - refuses a model before its weights are downloaded; it is not asked where files are named
 * @throws UserError: no such repository, revision or file, no access, no connection, too little space, wrong bytes; a
 * model that is refused.
 * FileError: the cache cannot be written.
 */
export async function fetchRepository(
  connection: Connection,
  cache: string,
  request: FetchRequest,
  watcher: FetchWatcher = {},
  judge?: JudgeModel,
): Promise<FetchedRepository> {
  const { revision, patterns } = request;
  const isWhole = request.kind === 'model' && patterns.length === 0;
  const { commit, files: all } = await listRepository(connection, request, revision);
  const files = selectFiles(request, all, patterns);
  const cached = new CachedRepository(cache, request);
  makeFolder(cached.blobs);
  const absent = files.filter(
    (file) => !cached.holds(commit, file) && sizeOf(cached.blob(file)) !== file.size,
  );
  const missingBytes = total(absent);
  watcher.planned?.({ commit, files: files.length, bytes: total(files), missingBytes });
  await requireSpace(cached.blobs, missingBytes);
  const folder = cached.snapshot(commit);
  const firstWeights = files.find(isWeights);
  for (const file of files) {
    if (judge && isWhole && file === firstWeights) judgeFolder(judge, request, folder, absent);
    if (absent.includes(file)) await fetchBlob(connection, cached, { ...request, commit }, file, watcher);
    if (!cached.holds(commit, file)) cached.link(commit, file);
    watcher.done?.(file, absent.includes(file) ? 'fetched' : 'present');
  }
  const missing = isWhole ? missingFiles(folder) : [];
  if (missing.length > 0) {
    throw new UserError(`${request.name} is incomplete on the hub: it lacks ${listNames(missing)}`, {
      hint: `Another revision may have it: ${fetchCommand(request)} --revision REVISION.`,
    });
  }
  cached.setRef(revision, commit);
  return { commit, folder, files: files.map(({ path }) => path) };
}

/** Says of a model that is refused what else was, and was not, downloaded. */
function judgeFolder(
  judge: JudgeModel,
  request: FetchRequest,
  folder: string,
  absent: readonly RemoteFile[],
): void {
  try {
    judge(folder);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const spared = total(absent.filter(isWeights));
    const weights = `Its weights${spared > 0 ? ` (${byteCount(spared)})` : ''} were not downloaded, only the files beside them.`;
    const anyway = `To download them anyway, name them: ${fetchCommand(request, request.revision)} '*.safetensors'`;
    // The files lie deep in the cache, where nobody mends them.
    throw new UserError(`${request.name} cannot be loaded: ${error.message.replaceAll(`${folder}/`, '')}`, {
      hint: [error.hint, weights, anyway].filter((line) => line !== undefined).join('\n'),
      cause: error,
    });
  }
}

const total = (files: readonly RemoteFile[]) => files.reduce((sum, { size }) => sum + size, 0);

async function requireSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize, blocks } = await statfs(folder);
  // Some file systems do not tell.
  if (blocks === 0 || bytes <= bavail * bsize) return;
  throw new UserError(
    `not enough space in ${folder}: ${byteCount(bytes)} are needed, ${byteCount(bavail * bsize)} are free`,
    { hint: 'Free some space, or put the cache on another disk with HF_HOME.' },
  );
}

/** Brings one file's bytes; they become a blob when they are the right ones. */
async function fetchBlob(
  connection: Connection,
  cached: CachedRepository,
  { kind, name, commit }: Repository & { commit: string },
  file: RemoteFile,
  watcher: FetchWatcher,
): Promise<void> {
  const { path, size, digest } = file;
  const place = `${kind === 'dataset' ? 'datasets/' : ''}${name}/resolve/${commit}`;
  const partial = claimPartial(cached.blobs, digest.hex);
  try {
    let resumed = sizeOf(partial) !== undefined;
    for (;;) {
      await transfer(connection, {
        subject: { kind, name, revision: commit, file: path },
        url: `${connection.endpoint}/${place}/${path.split('/').map(encodeURIComponent).join('/')}`,
        partial,
        size,
        progress: (received) => watcher.progress?.(file, received),
      });
      const found = await digestOf(partial, size, digest.algorithm);
      if (found === digest.hex) break;
      rmSync(partial);
      if (!resumed) throw wrongBytes(name, file, found);
      // What an earlier process left may have been torn by a power cut.
      resumed = false;
    }
    onFile('write', cached.blob(file), () => renameSync(partial, cached.blob(file)));
    syncFolder(cached.blobs);
  } finally {
    releasePartial(partial);
  }
}

function wrongBytes(name: string, { path, digest }: RemoteFile, found: string): UserError {
  return new UserError(
    `${path} of ${name} arrived with the wrong bytes: their ${digest.algorithm} is ${found}, not ${digest.hex}`,
    {
      hint: 'The file was removed. Run the command again; if it fails again, a server or proxy on the way changes the file.',
    },
  );
}
