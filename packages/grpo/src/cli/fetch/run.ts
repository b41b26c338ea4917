import { join } from 'node:path';
import { UsageError } from '../../config/index.js';
import {
  type Connection,
  type FetchRequest,
  fetchRepository,
  hubCache,
  hubEndpoint,
  hubToken,
  isRevision,
  MAIN,
  parseReference,
} from '../../hub/index.js';
import { readModelFolder } from '../../models/folder/folder.js';
import type { CommandArguments } from '../command.js';
import { createReporter } from '../live.js';
import { fetchProgress } from './progress.js';

/** `grpo fetch`: brings a model or a dataset from a hub into the local Hugging Face cache. */
export async function run(args: CommandArguments): Promise<number> {
  const request = requested(args);
  const json = args.flags.json === true;
  using reporter = createReporter({ stream: json ? process.stderr : process.stdout });
  const connection: Connection = {
    endpoint: hubEndpoint(),
    token: hubToken(),
    stallSeconds: 30,
    attempts: 5,
    delaySeconds: 1,
    note: reporter.note,
  };
  const fetched = await fetchRepository(
    connection,
    hubCache(),
    request,
    fetchProgress(request, reporter),
    readModelFolder,
  );
  const { kind, name, revision } = request;
  reporter.close();
  process.stdout.write(
    json
      ? `${JSON.stringify({ kind, name, revision, ...fetched })}\n`
      : `${fetchedText(request, fetched.folder, fetched.files)}\n`,
  );
  return 0;
}

/** Reads the command line. */
function requested({ flags, operands: [written, ...patterns] }: CommandArguments): FetchRequest {
  const hint = 'For instance: grpo fetch Qwen/Qwen2.5-0.5B-Instruct';
  if (written === undefined) throw new UsageError('grpo fetch needs a name, ORG/NAME.', { hint });
  const reference = parseReference(written);
  if (!reference) throw new UsageError(`Expected ORG/NAME, found '${written}'.`, { hint });
  const flag = flags.revision as string | undefined;
  if (flag !== undefined && !isRevision(flag)) {
    throw new UsageError(`'${flag}' cannot be a revision: give a branch, a tag or a commit.`);
  }
  if (flag !== undefined && reference.revision !== undefined && flag !== reference.revision) {
    throw new UsageError(`Two revisions are given: ${reference.revision} and ${flag}.`);
  }
  return {
    kind: flags.dataset === true ? 'dataset' : 'model',
    name: reference.name,
    revision: flag ?? reference.revision ?? MAIN,
    patterns,
  };
}

/** Paths of the fetched files, and the settings that use them. */
function fetchedText({ kind, name, revision }: FetchRequest, folder: string, files: string[]): string {
  if (kind === 'model') {
    return `Folder: ${folder}\nUse it as: model=${name}${revision === MAIN ? '' : `@${revision}`}`;
  }
  const paths = files.map((file) => join(folder, file));
  const data = paths.find((path) => /\.(jsonl|parquet)$/.test(path));
  return [...paths, ...(data === undefined ? [] : [`Use it as: task.data=${data}`])].join('\n');
}
