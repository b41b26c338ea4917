import { existsSync } from 'node:fs';
import { UsageError, UserError } from '../../../config/index.js';
import { wholeNumber } from '../../../errors/whole-number.js';
import { writeRows } from '../../../formats/write-rows.js';
import { countdownRow } from '../../../tasks/countdown/generate.js';
import { problemKey } from '../../../tasks/countdown/task.js';
import type { CommandArguments } from '../../command.js';

/** `grpo data countdown`: writes problems of the Countdown game that can be solved, each with a solution. */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  const [path, ...more] = operands;
  if (path === undefined || more.length > 0) {
    throw new UsageError('grpo data countdown needs one file to write.', {
      hint: 'For instance: grpo data countdown countdown.jsonl --rows 2000',
    });
  }
  if (existsSync(path)) throw new UserError(`${path} is there already`, { hint: 'Give another name.' });
  const count = wholeNumber('--rows', flags.rows, { least: 1 }) ?? 1000;
  const seed = wholeNumber('--seed', flags.seed) ?? 0;
  await writeRows(path, problems(seed, count));
  process.stdout.write(`${path}: ${count} rows.\nUse it as: task.name=countdown task.data=${path}\n`);
  return 0;
}

/** No problem twice, so that none can be held out and trained on. */
function* problems(seed: number, count: number) {
  const asked = new Set<string>();
  for (let index = 0; asked.size < count; index++) {
    const row = countdownRow(seed, index);
    const key = problemKey(row);
    if (asked.has(key)) continue;
    asked.add(key);
    yield row;
  }
}
