import { setThreads } from '@grpo/torch';
import { resolveConfig } from '../../config/index.js';
import { loadTask } from '../../tasks/index.js';
import { evaluate, openModel, samplingOf } from '../../train/index.js';
import type { CommandArguments } from '../command.js';
import { exampleLabel, formatEvaluation } from '../evaluation.js';

/** `grpo eval`: accuracy and rewards on a task's held-out problems. */
export async function run({ flags, settings }: CommandArguments): Promise<number> {
  const { config } = resolveConfig({ command: 'eval', file: flags.config as string | undefined, settings });
  if (config.threads !== undefined) setThreads(config.threads);
  using task = await loadTask(config);
  const model = openModel(config);
  const { limit, samples, temperature } = config.eval;
  const sampling = samplingOf(config, task.stop);
  const result = await evaluate(model, task, { limit, samples, temperature, sampling }, config.seed);
  if (flags.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else {
    const examples = result.examples.map(
      (example) => `${exampleLabel(example)}: ${example.prompt}${example.completion}`,
    );
    process.stdout.write(`${formatEvaluation('of the model', result)}\n\n${examples.join('\n\n')}\n`);
  }
  return 0;
}
