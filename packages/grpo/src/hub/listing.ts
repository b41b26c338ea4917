import { datasetInfo, listFiles, modelInfo } from '@huggingface/hub';
import { z } from 'zod';
import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import type { Digest } from './checksum.js';
import { type Connection, patientFetch } from './connection.js';
import { UnknownRepository } from './refusal.js';
import type { Repository } from './repository.js';
import { similarName } from './suggest.js';

/** A file of a repository, as the hub lists it. */
export interface RemoteFile {
  /** With forward slashes, inside the repository. */
  path: string;
  size: number;
  digest: Digest;
}

/** A repository at one commit. */
export interface Listing {
  commit: string;
  files: RemoteFile[];
}

const commitSchema = z.object({ sha: z.string().regex(/^[0-9a-f]{40}$/) });
const size = z.number().int().nonnegative();
const entrySchema = z.object({
  path: z.string(),
  size,
  // These name files in the cache, so they must be what they should be.
  oid: z.string().regex(/^[0-9a-f]{40}$/),
  lfs: z.object({ oid: z.string().regex(/^[0-9a-f]{64}$/), size }).optional(),
});

/**
 * Asks the hub which commit a revision is, and which files it has.
 *
 * @throws UnknownRepository; UserError: no such revision, no access, no connection, an answer that is not a hub's.
 */
export async function listRepository(
  connection: Connection,
  { kind, name }: Repository,
  revision: string,
): Promise<Listing> {
  const shared = {
    hubUrl: connection.endpoint,
    fetch: patientFetch(connection, { kind, name, revision }),
  };
  const about = { ...shared, name, revision };
  try {
    const found =
      kind === 'model'
        ? await modelInfo({ ...about, additionalFields: ['sha'] })
        : await datasetInfo({ ...about, additionalFields: ['sha'] });
    const { sha: commit } = commitSchema.parse(found);
    const files: RemoteFile[] = [];
    for await (const entry of listFiles({
      ...shared,
      repo: { type: kind, name },
      revision: commit,
      recursive: true,
    })) {
      if (entry.type === 'file') files.push(remoteFile(entrySchema.parse(entry)));
    }
    return { commit, files };
  } catch (error) {
    if (error instanceof UnknownRepository) throw await withSuggestion(error, connection, { kind, name });
    // The library parses and looks into what came without checking it.
    if (error instanceof UserError || !isMalformed(error)) throw error;
    throw new UserError(`the answer of ${connection.endpoint} is not a hub's`, {
      hint: 'Open that address in a browser: a login page may be in the way. HF_ENDPOINT sets the address.',
      cause: error,
    });
  }
}

async function withSuggestion(error: UnknownRepository, connection: Connection, repository: Repository) {
  const similar = await similarName(connection, repository);
  const hint = `${similar === undefined ? '' : `The nearest name of that owner is ${similar}. `}${error.hint}`;
  return new UnknownRepository(error.message, { hint, cause: error });
}

const isMalformed = (error: unknown) =>
  error instanceof SyntaxError || error instanceof TypeError || error instanceof z.ZodError;

function remoteFile({ path, size, oid, lfs }: z.infer<typeof entrySchema>): RemoteFile {
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..') || /[\\\0]/.test(path)) {
    throw new UserError(`the repository names a file ${excerpt(path)}, which would lie outside its folder`);
  }
  return lfs
    ? { path, size: lfs.size, digest: { algorithm: 'sha256', hex: lfs.oid } }
    : { path, size, digest: { algorithm: 'git-sha1', hex: oid } };
}
