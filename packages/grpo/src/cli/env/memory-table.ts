import { resolveConfig, UserError } from '../../config/index.js';
import { modelFolder } from '../../hub/model-folder.js';
import type { Estimate } from '../../memory/estimate.js';
import { memoryLine, memoryRows } from '../../memory/memory-lines.js';
import { readModelFolder } from '../../models/index.js';
import { estimateMemory, requireFits, withMemory } from '../../run/memory-plan.js';
import { openTask } from '../../run/open-task.js';
import { twoColumns } from '../text-layout.js';

/**
 * Memory that training with these settings would take, from the model's `config.json`, its tokenizer and the data; no
 * weight is read.
 *
 * @returns `requireFits` throws the error that a run with these settings would end with before step 1
 */
export async function memoryTable(
  file: string | undefined,
  settings: readonly string[],
): Promise<{ rows: string; line: string; estimate: Estimate; requireFits: () => void }> {
  const resolved = withMemory(resolveConfig({ command: 'train', file, settings }));
  const { config, provenance } = resolved;
  if (config.model === undefined) {
    throw new UserError('the model of this task is made when the run begins, and is tiny', {
      hint: 'Give model=FOLDER to see what a run with it would take.',
    });
  }
  using task = await openTask({ ...config, rewards: [] });
  const estimated = estimateMemory(resolved, readModelFolder(modelFolder(config.model)), task);
  const { with: _, ...estimate } = estimated;
  const budget = { bytes: config.memory as number, source: provenance.memory! };
  const line = memoryLine(estimate, budget);
  const rows = `${twoColumns(memoryRows(estimate), 36, 200).join('\n')}\n\n${line}\n`;
  return { rows, line, estimate, requireFits: () => requireFits(resolved, estimated) };
}
