import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Tensor } from '@grpo/torch';
import { compareSum } from '../../audit/folder/audit-merge.js';
import { PlainMerge } from '../../audit/folder/plain-merge.js';
import { UsageError, UserError } from '../../config/index.js';
import { byteCount } from '../../errors/byte-count.js';
import { exportGguf, exportTypes } from '../../export/index.js';
import { modelFolder } from '../../hub/model-folder.js';
import { openModelFolder } from '../../models/index.js';
import { Watch } from '../../progress/watch.js';
import { checkpointsIn } from '../../run/folder/checkpoint.js';
import type { CommandArguments } from '../command.js';
import { createReporter } from '../live.js';
import { requireSum } from '../require-sum.js';

/** `grpo export`: writes a model, adapters added and held to a second computation, as a GGUF file. */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  const [asked, ...more] = operands;
  const file = flags.gguf as string | undefined;
  if (asked === undefined || more.length > 0 || file === undefined) {
    throw new UsageError('grpo export needs one model, and --gguf with the file to write.', {
      hint: 'For instance: grpo export runs/first --gguf first.gguf',
    });
  }
  if (!file.endsWith('.gguf'))
    throw new UsageError(`--gguf names a file that ends in .gguf, found '${file}'.`);
  const type = exportTypes.find((name) => name === flags.type);
  if (flags.type !== undefined && type === undefined)
    throw new UsageError(`--type is ${exportTypes.join(', ')}; found '${flags.type}'.`);
  const model = modelOf(asked);
  const base = flags.base as string | undefined;
  using reporter = createReporter({ stream: process.stderr });
  const opened = openModelFolder(base ?? model, base === undefined ? {} : { lora: { adapter: model } });
  const addends = opened.lora && { base: modelFolder(opened.lora.settings.base), adapter: model };
  using plain = addends && new PlainMerge(addends);
  const summed = (name: string, sum: Tensor) => requireSum(file, addends!, compareSum(plain!, name, sum));
  const watch = new Watch(reporter);
  const written = exportGguf(opened, file, { type, watch, ...(plain && { summed }) });
  opened.lora?.dispose();
  reporter.close();
  for (const note of written.notes) process.stderr.write(`Note: ${note}\n`);
  const from = opened.lora ? `${opened.lora.settings.base} with ${model}` : model;
  process.stdout.write(`Model: ${file} (${from}, ${written.type}, ${byteCount(written.bytes)})\n`);
  return 0;
}

/** The model itself, or the newest checkpoint of a run's folder. */
function modelOf(path: string): string {
  const root = join(path, 'checkpoints');
  if (!existsSync(root)) return path;
  const newest = checkpointsIn(root).find(({ afterError }) => !afterError);
  if (newest) return newest.dir;
  throw new UserError(`the run in ${path} has no checkpoint`, {
    hint: `Its model before training: grpo export ${join(path, 'model')}`,
  });
}
