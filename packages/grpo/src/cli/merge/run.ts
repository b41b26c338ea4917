import { existsSync, readdirSync } from 'node:fs';
import { auditMerge } from '../../audit/folder/audit-merge.js';
import { UsageError, UserError } from '../../config/index.js';
import { modelFolder } from '../../hub/model-folder.js';
import { loadModel, mergeLora, saveModel } from '../../models/index.js';
import { Watch } from '../../progress/watch.js';
import type { CommandArguments } from '../command.js';
import { createReporter } from '../live.js';
import { requireSum } from '../require-sum.js';

const DTYPES = ['float32', 'bfloat16'] as const;

/**
 * `grpo merge`: adds an adapter to the model that it adapts, writes that as a Hugging Face folder, and holds the folder to
 * the two.
 */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  const [adapter, output, ...more] = operands;
  if (adapter === undefined || output === undefined || more.length > 0) {
    throw new UsageError('grpo merge needs the folder of an adapter and a new one for the model.', {
      hint: 'For instance: grpo merge runs/first/checkpoints/step-100 models/trained',
    });
  }
  const dtype = DTYPES.find((name) => name === flags.dtype);
  if (flags.dtype !== undefined && dtype === undefined)
    throw new UsageError(`--dtype is ${DTYPES.join(' or ')}, found '${flags.dtype}'.`);
  if (existsSync(output) && readdirSync(output).length > 0) {
    throw new UserError(`${output} is not empty`, { hint: 'Give a folder that is, or that does not exist.' });
  }
  const base = flags.base as string | undefined;
  using reporter = createReporter({ stream: process.stderr });
  const watch = new Watch(reporter);
  const model = loadModel(base ?? adapter, {
    watch,
    ...(dtype && { dtype }),
    ...(base !== undefined && { lora: { adapter } }),
  });
  if (!model.decoder.lora) throw new UserError(`${adapter} is a model, not an adapter: nothing to merge`);
  const { decoder } = model;
  saveModel({ ...model, decoder: mergeLora(decoder) }, output, watch);
  const sum = { base: modelFolder(decoder.lora!.settings.base), adapter };
  const worst = auditMerge({ ...sum, merged: output }, watch);
  reporter.close();
  requireSum(output, sum, worst);
  process.stdout.write(
    `Model: ${output} (${decoder.lora!.settings.base} with ${adapter}, ${decoder.dtype})\n`,
  );
  return 0;
}
