/** The policy that the small runs train: it knows a little of the lab's task, so that rewards differ. */
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { resolveConfig } from '../../config/index.js';
import { writeRandomWeights } from '../../models/index.js';
import { openRun } from '../../run/open-run.js';
import { trainSft } from '../../run/train-sft.js';
import { lettersTask } from '../letters-task.js';
import { writeLabText } from '../model-files.js';

/** Few enough that it still errs, and doubts. */
const STEPS = 90;

/** Writes the model to a folder that does not exist yet. */
export async function writeSmallModel(dir: string, seed: number): Promise<void> {
  const work = `${dir}.partial`;
  rmSync(work, { recursive: true, force: true });
  const blank = join(work, 'blank');
  mkdirSync(blank, { recursive: true });
  const size = { hiddenSize: 32, heads: 4, layers: 2, intermediateSize: 64 };
  await writeLabText(blank, '<pad>', size);
  writeRandomWeights(blank, seed);
  const output = join(work, 'run');
  const task = lettersTask();
  const resolved = resolveConfig({
    command: 'sft',
    env: {},
    code: { task: task.name, rewards: task.rewards.map(({ name, weight }) => ({ name, weight })) },
    settings: [
      `model=${blank}`,
      `output=${output}`,
      'device=cpu',
      'threads=1',
      ...[`sft.steps=${STEPS}`, 'sft.batchSize=16', 'sft.learningRate=4e-3', 'optimizer.beta2=0.99'],
      ...['eval.before=false', 'eval.samples=0', 'eval.limit=1', 'rollout.maxNewTokens=4'],
    ],
  });
  await using run = await openRun(resolved, { task });
  await trainSft(run);
  renameSync(join(run.folder.checkpoints, `step-${STEPS}`), dir);
  rmSync(work, { recursive: true, force: true });
}
