import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { memory } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { saveModel } from '../models/index.js';
import { grpoStep } from '../step/grpo-step.js';
import { GrpoTrainer } from './grpo-trainer.js';
import { openRun } from './open-run.js';
import { halfOfTheTokens, resolvedRun, run } from './run.test.helper.js';
import { learningRateAt } from './schedule.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

/** Whatever a step may work with beside model and optimizer, and changes while training. */
const EVERYTHING = [
  'optimizer.learningRate=0.01',
  'objective.oldLogprobs=recompute',
  'objective.iterations=2',
  'groups.refills=1',
  'groups.replay=3',
  ...['kl.beta=0.05', 'kl.control=lagrangian', 'kl.target=0.001', 'kl.window=3', 'kl.rate=10'],
  ...['kl.referenceEvery=3', 'kl.referenceMix=0.1', 'entropy.adaptive=true', 'entropy.target=3'],
];

/** The steps that are left of a run, in a loop of one's own; returns the trained weights. */
async function ownLoop(options: Parameters<typeof resolvedRun>[0] & { resume?: boolean }): Promise<Buffer> {
  await using opened = await openRun(resolvedRun(options), { resume: options.resume, watcher: {} });
  using trainer = await GrpoTrainer.open(opened, { score: halfOfTheTokens });
  let updates = 0;
  trainer.observers = [{ updated: () => updates++ }];
  const { optimizer, train, rollout } = trainer.config;
  for (let step = opened.progress.step; step < train.steps; step++) {
    const problems = trainer.supply.take(rollout.prompts);
    await grpoStep(trainer, problems, step, learningRateAt(optimizer, step, train.steps));
  }
  expect(updates).toBe(2 * (train.steps - opened.progress.step));
  const dir = join(tempFolder(), 'own');
  saveModel(opened.model, dir);
  return readFileSync(join(dir, 'model.safetensors'));
}

describe('a loop of one’s own over GrpoTrainer.open(run)', () => {
  it('trains as the run does, also from a checkpoint on, and leaves no tensors', async () => {
    const root = tempFolder();
    const settings = [`model=${await tinyModelFolder()}`, ...EVERYTHING];
    const at = (output: string) => ({ output: join(root, output), settings });
    await run(at('whole'));
    const expected = readFileSync(join(root, 'whole', 'checkpoints', 'step-8', 'model.safetensors'));
    const live = memory();
    expect((await ownLoop(at('own'))).equals(expected)).toBe(true);
    await run({ ...at('stopped'), stopAfter: 4 });
    expect((await ownLoop({ ...at('stopped'), resume: true })).equals(expected)).toBe(true);
    expect(memory()).toEqual(live);
  });
});
