import { readBuildRecord } from '@grpo/torch/setup';
import { resolveConfig, UsageError, UserError } from '../../config/index.js';
import type { InspectionCheck } from '../../inspection/check.js';
import { inspectModel } from '../../inspection/inspect-model.js';
import { loadTask } from '../../tasks/index.js';
import { type CommandArguments, EXIT } from '../command.js';
import { readable } from '../readable.js';
import { pageWidth } from '../text-layout.js';
import { saveLogs } from './logs.js';
import { inspectionPage, type ShownInspection } from './page.js';

/** The flags, read. */
interface InspectFlags {
  config?: string;
  prompt?: string[];
  path?: string[];
  generate?: boolean;
  save?: string;
  json?: boolean;
}

/**
 * `grpo inspect`: a model's tokenizer, template and settings, as a run meets them. Exit code 1 where a check fails, 2
 * where the model cannot be read. Needs no tensor engine but for `--generate`.
 */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  const { generate, save, json, ...asked } = flags as InspectFlags;
  const [model, ...more] = operands;
  if (model === undefined || more.length > 0)
    throw new UsageError('grpo inspect takes one model', {
      hint: 'A Hugging Face folder, or ORG/NAME of one that npx grpo fetch got: grpo inspect models/llama',
    });
  if (asked.config !== undefined && asked.prompt !== undefined)
    throw new UsageError(
      '--prompt makes the table of prompts, and --config takes those of the run: give one',
    );
  const free = await readable(() => inspect(model, asked));
  const inspection = generate ? await withWeights(free) : free;
  if (save !== undefined) saveLogs(save, inspection.checks);
  process.stdout.write(
    json ? `${JSON.stringify(inspection)}\n` : inspectionPage(inspection, { width: pageWidth(), save }),
  );
  return inspection.checks.some(({ verdict }) => verdict === 'fail') ? EXIT.error : 0;
}

/** The same with what the weights tell, or why they tell nothing: the other checks stand. */
async function withWeights(free: ShownInspection): Promise<ShownInspection> {
  const and = (check: InspectionCheck) => ({ ...free, checks: [...free.checks, check] });
  if (!readBuildRecord()) {
    const says = 'Without libtorch there are no completions, and no nats. Run: npx grpo setup';
    return and({ name: 'weights', verdict: 'inform', says, log: [] });
  }
  const { inspectWeights } = await import('./inspect-weights.js');
  try {
    return await inspectWeights(free);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message: says, hint: remedy } = error;
    return and({ name: 'weights', verdict: 'fail', says, ...(remedy !== undefined && { remedy }), log: [] });
  }
}

async function inspect(
  model: string,
  { config: file, prompt, path }: Pick<InspectFlags, 'config' | 'prompt' | 'path'>,
): Promise<ShownInspection> {
  const paths = path && { paths: path };
  if (file === undefined) return inspectModel(model, { ...(prompt && { prompts: prompt }), ...paths });
  const { config } = resolveConfig({ command: 'train', file, settings: [`model=${model}`] });
  // Rewards look at no prompt.
  using task = await loadTask({ ...config, rewards: [] });
  return {
    ...inspectModel(model, { run: { task, config }, ...paths }),
    memory: await memoryLine(file, model),
  };
}

/** What the estimate says of a run's memory, which asks the engine for devices and precision. */
async function memoryLine(file: string, model: string): Promise<string> {
  if (!readBuildRecord()) return 'Memory: not estimated, libtorch is not set up yet. Run: npx grpo setup';
  const { memoryTable } = await import('../env/memory-table.js');
  return (await memoryTable(file, [`model=${model}`])).line;
}
