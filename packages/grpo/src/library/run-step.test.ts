import { join } from 'node:path';
import { memory } from '@grpo/torch';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { tinyModelFolder } from '../run/tiny-model.test.helper.js';
import { defineTask } from '../tasks/define.js';
import { runStep } from './run-step.js';

const task = defineTask({
  name: 'letters',
  rows: [...'abcdefghij'],
  prompt: (row) => `${row}:`,
  rewards: { even: (completion) => [...completion].filter((char) => char.charCodeAt(0) % 2 === 0).length },
});

it('takes one step, and asks its prompts before it and after it', async () => {
  const live = memory();
  const output = join(tempFolder(), 'run');
  const { record, before, after, change } = await runStep({
    model: await tinyModelFolder(),
    task,
    output,
    settings: {
      rollout: { prompts: 3, group: 2, maxNewTokens: 4 },
      eval: { samples: 2, every: 7, before: false },
      optimizer: { learningRate: 1e-2 },
      train: { steps: 50 },
    },
  });
  expect(memory()).toEqual(live);
  expect(record).toMatchObject({ step: 1, prompts: { texts: { length: 3 } } });
  const asked = (result: typeof before) => [...new Set(result!.completions.map(({ prompt }) => prompt))];
  expect(asked(before)).toEqual(record!.prompts!.texts);
  expect(asked(after)).toEqual(record!.prompts!.texts);
  // The paired difference, from the completions themselves.
  const meansOf = (result: typeof before) =>
    [0, 1, 2].map((problem) => {
      const own = result!.completions.filter((one) => one.decoding === 'sampled' && one.problem === problem);
      return own.reduce((sum, { reward }) => sum + reward!, 0) / own.length;
    });
  const differences = meansOf(after).map((mean, p) => mean - meansOf(before)[p]!);
  const mean = differences.reduce((a, b) => a + b) / 3;
  expect(change!.sampled).toMatchObject({ of: 'reward', mean: expect.closeTo(mean, 9) });
  const deviation = Math.sqrt(differences.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 2);
  // Student's t with two degrees of freedom, which the interval has within 1 %.
  const half = (4.302653 * deviation) / Math.sqrt(3);
  expect(Math.abs((change!.sampled!.high! - mean) / half - 1)).toBeLessThan(0.01);
});

it('refuses what only a run of several steps has', async () => {
  const options = { model: await tinyModelFolder(), task, resume: true };
  await expect(runStep(options)).rejects.toThrow('resume');
});
