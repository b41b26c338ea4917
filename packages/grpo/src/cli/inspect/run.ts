import { UsageError } from '../../config/index.js';
import { inspectModel } from '../../inspection/inspect-model.js';
import { type CommandArguments, EXIT } from '../command.js';
import { readable } from '../readable.js';
import { pageWidth } from '../text-layout.js';
import { saveLogs } from './logs.js';
import { inspectionPage } from './page.js';

/**
 * `grpo inspect`: a model's tokenizer, template and settings, as a run meets them. Exit code 1 where a check fails, 2
 * where the model cannot be read. Needs no tensor engine but for `--generate`.
 */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  const [model, ...more] = operands;
  if (model === undefined || more.length > 0)
    throw new UsageError('grpo inspect takes one model', {
      hint: 'A Hugging Face folder, or ORG/NAME of one that npx grpo fetch got: grpo inspect models/llama',
    });
  const { prompt, path, generate, save, json } = flags as {
    generate?: boolean;
    prompt?: string[];
    path?: string[];
    save?: string;
    json?: boolean;
  };
  const free = await readable(async () =>
    inspectModel(model, { ...(prompt && { prompts: prompt }), ...(path && { paths: path }) }),
  );
  const inspection = generate ? await (await import('./with-weights.js')).inspectWeights(free) : free;
  if (save !== undefined) saveLogs(save, inspection.checks);
  process.stdout.write(
    json ? `${JSON.stringify(inspection)}\n` : inspectionPage(inspection, { width: pageWidth(), save }),
  );
  return inspection.checks.some(({ verdict }) => verdict === 'fail') ? EXIT.error : 0;
}
