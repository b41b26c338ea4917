import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import type { MetricsRow } from '../observe/metrics.js';
import { rewarding } from '../step/step.test.helper.js';
import { openRun } from './open-run.js';
import { type RunOptions, resolvedRun } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';
import { trainGrpo } from './train-grpo.js';
import { trainSft } from './train-sft.js';

const STEPS = 300;
// Until then the collector finds its size of the heap.
const SETTLED = 100;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

interface Held {
  /** MiB that the process has outside JavaScript's heap, and MiB of live objects. */
  native: number;
  objects: number;
}

function held(): Held {
  // Before a collection: pages that it takes off the heap are the process's for a while after.
  const { rss, heapTotal } = process.memoryUsage();
  // Twice: the first may end a collection under way, which keeps what was made since it began.
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return { native: (rss - heapTotal) / 2 ** 20, objects: (heapUsed + external) / 2 ** 20 };
}

/** Live tensors and bytes after each step, and what was held when the heap had its size, and at the end. */
async function liveCounts(command: 'train' | 'sft', settings: readonly string[]) {
  const output = `${tempFolder()}/run`;
  const common = ['eval.before=false', 'eval.every=0', 'checkpoint.every=0', 'train.microBatchTokens=20'];
  const options: RunOptions = {
    command,
    output,
    settings: [`model=${await tinyModelFolder()}`, ...common, ...settings],
  };
  const counts: string[] = [];
  let early: Held | undefined;
  const step = (row: MetricsRow) => {
    counts.push(`${row.live_tensors} tensors, ${row.live_bytes} bytes`);
    if (row.step === SETTLED) early = held();
  };
  await using session = await openRun(resolvedRun(options), { watcher: { step } });
  if (command === 'sft') await trainSft(session);
  else await trainGrpo(session, { score: rewarding((b) => Math.sin(3 * b)) });
  return { counts, early: early!, late: held() };
}

describe(`${STEPS} steps`, () => {
  it.each([
    [
      'train',
      ['kl.beta=0.05', 'objective.iterations=2', 'objective.oldLogprobs=recompute', `train.steps=${STEPS}`],
    ],
    ['sft', ['sft.batchSize=2', `sft.steps=${STEPS}`]],
  ] as const)('of %s leave as many tensors and bytes as 20', async (command, settings) => {
    const { counts, early, late } = await liveCounts(command, settings);
    expect(counts.length).toBe(STEPS);
    expect(counts[19]).toMatch(/^[1-9]\d* tensors, [1-9]\d* bytes$/);
    expect([...new Set(counts.slice(19))]).toEqual([counts[19]]);
    expect(late.objects - early.objects).toBeLessThan(4);
    expect(late.native - early.native).toBeLessThan(25);
  });
});
