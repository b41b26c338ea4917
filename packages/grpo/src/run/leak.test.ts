import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import type { MetricsRow } from '../observe/metrics.js';
import { rewarding } from '../step/step.test.helper.js';
import { openRun } from './open-run.js';
import { type RunOptions, resolvedRun } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';
import { trainGrpo } from './train-grpo.js';
import { trainSft } from './train-sft.js';

const STEPS = 1000;

/** Live tensors and bytes after each step, and how much the process grew from step 20 to the last, in MiB. */
async function liveCounts(command: 'train' | 'sft', settings: readonly string[]) {
  const output = `${tempFolder()}/run`;
  const common = ['eval.before=false', 'eval.every=0', 'checkpoint.every=0', 'train.microBatchTokens=20'];
  const options: RunOptions = {
    command,
    output,
    settings: [`model=${await tinyModelFolder()}`, ...common, ...settings],
  };
  const counts: string[] = [];
  let early = 0;
  const step = (row: MetricsRow) => {
    counts.push(`${row.live_tensors} tensors, ${row.live_bytes} bytes`);
    if (row.step === 20) early = process.memoryUsage.rss();
  };
  await using session = await openRun(resolvedRun(options), { watcher: { step } });
  if (command === 'sft') await trainSft(session);
  else await trainGrpo(session, { score: rewarding((b) => Math.sin(3 * b)) });
  return { counts, growth: (process.memoryUsage.rss() - early) / 2 ** 20 };
}

describe(`${STEPS} steps`, () => {
  it.each([
    ['train', ['kl.beta=0.05', 'objective.oldLogprobs=recompute', `train.steps=${STEPS}`]],
    ['sft', ['sft.batchSize=2', `sft.steps=${STEPS}`]],
  ] as const)('of %s leave as many tensors and bytes as 20', async (command, settings) => {
    const { counts, growth } = await liveCounts(command, settings);
    expect(counts.length).toBe(STEPS);
    expect(counts[19]).toMatch(/^[1-9]\d* tensors, [1-9]\d* bytes$/);
    expect([...new Set(counts.slice(19))]).toEqual([counts[19]]);
    expect(growth).toBeLessThan(150);
  });
});
