import { setThreads } from '@grpo/torch';
import { resolveConfig, UsageError } from '../../config/index.js';
import { Watch } from '../../progress/watch.js';
import { sample } from '../../rollout/index.js';
import { describeDevice } from '../../run/device.js';
import { withMemory } from '../../run/memory-plan.js';
import { openSampler } from '../../run/model-source.js';
import { asPrompt } from '../../tasks/prompt.js';
import { renderPrompt } from '../../text/render.js';
import type { CommandArguments } from '../command.js';
import { createReporter } from '../live.js';

/**
 * `grpo generate`: completes prompts, by the same rendering and decoding as training: as plain text, or through the
 * chat template with `task.system`. Nothing is put around a prompt, so a task's instructions have to be in it.
 */
export async function run({ flags, settings }: CommandArguments): Promise<number> {
  const prompts = (flags.prompt as string[] | undefined) ?? [];
  if (prompts.length === 0) throw new UsageError('grpo generate needs --prompt TEXT.');
  const resolved = withMemory(
    resolveConfig({ command: 'generate', file: flags.config as string | undefined, settings }),
  );
  const { config, provenance } = resolved;
  if (config.threads !== undefined) setThreads(config.threads);
  process.stderr.write(`${describeDevice(config.device, provenance.device!)}\n`);
  using reporter = createReporter({ stream: process.stderr });
  const watch = new Watch(reporter);
  const asked = prompts.map((text) => asPrompt(text, config.task.system));
  const problems = asked.map((prompt) => ({ prompt, row: {} }));
  const task = { train: [], eval: problems, stop: config.task.stop ?? [] };
  const { model, sampling } = openSampler(resolved, task, watch);
  const rendered = asked.map((prompt) => renderPrompt(model.tokenizer, model.template, prompt));
  const requests = rendered.map(({ ids }, p) => ({ ids, count: 1, keys: [0, p] }));
  const groups = await sample(model, requests, sampling, config.seed, watch.named('generation'));
  reporter.close();
  for (const [p, [completion]] of groups.entries()) {
    const { text, finishReason, ids } = completion!;
    const json = { prompt: rendered[p]!.text, completion: text, finishReason, tokens: ids.length };
    process.stdout.write(flags.json ? `${JSON.stringify(json)}\n` : `${text}\n`);
  }
  return 0;
}
