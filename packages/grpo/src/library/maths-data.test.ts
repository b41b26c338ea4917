import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { countdownRow } from '../tasks/countdown/generate.js';
import { loadTask } from '../tasks/index.js';
import { train } from './run.js';
import { writeTinyModel } from './tiny-model.js';

const SUMS = fileURLToPath(new URL('../../../../parity/fixtures/parquet/sums.parquet', import.meta.url));

/** Trains for 20 steps on a task as the command line has it. */
async function trained(folder: string, ...settings: string[]) {
  writeFileSync(join(folder, 'short.prompt'), '{question} <think>');
  const model = await writeTinyModel(join(folder, 'model'), { hiddenSize: 16, heads: 2, layers: 1 });
  const own = [
    `model=${model}`,
    `task.prompt=${join(folder, 'short.prompt')}`,
    'task.evalSize=5',
    ...settings,
  ];
  const { config } = resolveConfig({ command: 'train', settings: own, env: {} });
  using task = await loadTask(config);
  const losses: unknown[] = [];
  const run = await train({
    model,
    task,
    output: join(folder, 'run'),
    settings: {
      train: { steps: 20 },
      rollout: { prompts: 2, group: 2, maxNewTokens: 6 },
      eval: { before: false, limit: 2 },
      checkpoint: { every: 0 },
      threads: 1,
    },
    onStep: ({ loss }) => losses.push(loss),
    // Random weights earn nothing.
    onNote: () => undefined,
  });
  const lines = readFileSync(join(run.output, 'completions.jsonl'), 'utf8').trim().split('\n');
  return { losses, completions: lines.map((line) => JSON.parse(line)), run };
}

describe('20 steps of GRPO', () => {
  it('on worked solutions from Parquet', async () => {
    const { losses, completions, run } = await trained(tempFolder(), `task.data=${SUMS}`);
    expect(run.steps).toBe(20);
    expect(losses.filter(Number.isFinite)).toHaveLength(20);
    expect(completions).toHaveLength(80);
    for (const { prompt_text, rewards, reward_rules } of completions) {
      expect(prompt_text).toMatch(/^A shelf holds \d+ books .* <think>$/);
      expect(rewards).toEqual({ answer: 0, format: 0 });
      expect(reward_rules.answer).toMatch(/^(no|\d+ times) <|^<think> again/);
    }
  });

  it('on Countdown', async () => {
    const folder = tempFolder();
    const data = join(folder, 'countdown.jsonl');
    const rows = Array.from({ length: 40 }, (_, i) => JSON.stringify(countdownRow(0, i)));
    writeFileSync(data, rows.join('\n'));
    const { losses, completions } = await trained(folder, 'task.name=countdown', `task.data=${data}`);
    expect(losses.filter(Number.isFinite)).toHaveLength(20);
    for (const { prompt_text, rewards } of completions) {
      expect(prompt_text).toMatch(
        /^Use each of the numbers [\d, ]+ and \d+ exactly once to make \d+\. <think>$/,
      );
      expect(Object.keys(rewards)).toEqual(['answer', 'format']);
    }
  });
});
