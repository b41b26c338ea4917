import { join } from 'node:path';
import { expect, it } from 'vitest';
import { examine } from '../doctor/examine.js';
import { registry } from '../doctor/registry.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { stages } from '../step/stages.js';
import { readRun } from '../trace/readers/index.js';
import { run } from './run.test.helper.js';

const rawRewards: typeof stages.advantage = (rewards, ...rest) => {
  const standard = stages.advantage(rewards, ...rest);
  return { ...standard, advantages: Float64Array.from(rewards.totals) };
};

/** Codes of what the doctor fails of a run's folder. */
async function failuresOf(output: string): Promise<string[]> {
  const { findings } = examine(await readRun(output), registry);
  return findings.filter(({ severity }) => severity === 'fail').map(({ code }) => code);
}

it('a stage of one’s own is known in all steps, also after the run went on without it', async () => {
  const output = join(tempFolder(), 'run');
  await run({
    output,
    settings: ['train.steps=5', 'eval.before=false'],
    stages: { advantage: rawRewards },
    stopAfter: 4,
  });
  expect(await failuresOf(output)).toEqual([]);
  await run({ output, settings: ['train.steps=5', 'eval.before=false'], resume: true });
  expect(await failuresOf(output)).toEqual([]);
});
