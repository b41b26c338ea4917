import { existsSync, linkSync, renameSync } from 'node:fs';
import { UsageError, UserError } from '../../../config/index.js';
import { onFile } from '../../../errors/file-error.js';
import { EmptyFile, FormatError } from '../../../errors/format-error.js';
import { formOf, type Row, streamRows } from '../../../formats/read-rows.js';
import { writeRows } from '../../../formats/write-rows.js';
import type { CommandArguments } from '../../command.js';
import { type Conversion, convertRow } from './convert-row.js';

/** Name under which `--in-place` keeps the old file. */
export const backupOf = (path: string): string => `${path}.backup`;

/** `grpo data convert`: rows in any form that is read become JSON Lines, with keys renamed. */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  const inPlace = flags['in-place'] === true;
  const files = operands.slice(0, inPlace ? 1 : 2);
  const [input, output = input] = files;
  if (input === undefined || files.length < (inPlace ? 1 : 2)) {
    throw new UsageError('grpo data convert needs a file to read and one to write, or --in-place.', {
      hint: 'For instance: grpo data convert math.parquet math.jsonl question=problem answer=solution',
    });
  }
  const conversion: Conversion = {
    renamed: operands.slice(files.length).map(renaming),
    finalAnswer: flags['final-answer'] === true,
  };
  requireDistinct(conversion);
  const rows = converted(input, conversion);
  if (inPlace) {
    requireReplaceable(input);
    const count = await writeRows(input, rows, () => keep(input));
    process.stdout.write(`${input}: ${count} rows. What was there is ${backupOf(input)}.\n`);
    return 0;
  }
  requireFree(output!);
  const count = await writeRows(output!, rows, () => requireFree(output!));
  process.stdout.write(`${output}: ${count} rows.\nUse it as: task.data=${output}\n`);
  return 0;
}

/** Reads `NEW=OLD`. */
function renaming(word: string): [string, string] {
  const [, to, from] = /^([^=]+)=([^=]+)$/.exec(word) ?? [];
  if (to !== undefined && from !== undefined) return [to, from];
  throw new UsageError(`Expected NEW=OLD, found '${word}'.`, {
    hint: 'question=problem makes the key problem of each row its key question.',
  });
}

function requireDistinct({ renamed }: Conversion): void {
  for (const side of [0, 1] as const) {
    const names = renamed.map((pair) => pair[side]);
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined) throw new UsageError(`The key ${twice} is named twice.`);
  }
}

async function* converted(path: string, conversion: Conversion): AsyncGenerator<Row> {
  let count = 0;
  for await (const { line, value } of streamRows(path)) {
    const row = convertRow(value, conversion);
    if (typeof row === 'string') throw new FormatError(path, row, { line });
    yield row;
    count++;
  }
  if (count === 0) throw new EmptyFile(path, 'the file has no rows; nothing was written');
}

function requireFree(path: string): void {
  if (!existsSync(path)) return;
  throw new UserError(`${path} is there already`, {
    hint: 'Give another name, or convert with --in-place, which keeps a backup.',
  });
}

function requireReplaceable(path: string): void {
  if (formOf(path) === 'Parquet') {
    throw new UserError(`${path} is Parquet, and what is written is JSON Lines`, {
      hint: `Give it a name of its own: grpo data convert ${path} ${path.replace(/\.parquet$/i, '')}.jsonl`,
    });
  }
  requireNoBackup(path);
}

function requireNoBackup(path: string): void {
  if (!existsSync(backupOf(path))) return;
  throw new UserError(`${backupOf(path)} is there already and is not overwritten`, {
    hint: `To go back to it: grpo data restore ${path}. To keep it: give it another name.`,
  });
}

const NO_LINKS = new Set<string | undefined>(['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK']);

/** Gives the file a second name, so that it is never without one: the new content then takes the first. */
function keep(path: string): void {
  const backup = backupOf(path);
  requireNoBackup(path);
  onFile('write', backup, () => {
    try {
      linkSync(path, backup);
    } catch (error) {
      // Some file systems have no links; there the file has no name but the backup's for a moment.
      if (!NO_LINKS.has((error as NodeJS.ErrnoException).code)) throw error;
      renameSync(path, backup);
    }
  });
}
