import { existsSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError, UserError } from '../../../config/index.js';
import { onFile } from '../../../errors/file-error.js';
import { syncFolder } from '../../../formats/atomic-file.js';
import type { CommandArguments } from '../../command.js';
import { backupOf } from '../convert/run.js';

/** `grpo data restore`: moves the backup of a converted file back into its place. */
export async function run({ operands }: CommandArguments): Promise<number> {
  const [path, ...more] = operands;
  if (path === undefined || more.length > 0) {
    throw new UsageError('grpo data restore needs one file: the one that was converted in place.');
  }
  const backup = backupOf(path);
  if (!existsSync(backup)) throw new UserError(`there is no ${backup}: nothing to restore`);
  onFile('write', path, () => renameSync(backup, path));
  syncFolder(dirname(path));
  process.stdout.write(`${path} is what it was before it was converted.\n`);
  return 0;
}
