import { trainGrpo } from '../../train/index.js';
import type { CommandArguments } from '../command.js';
import { runTraining, trainingConfig } from '../run.js';

/** `grpo train`: GRPO on a task. */
export async function run(args: CommandArguments): Promise<number> {
  const resolved = trainingConfig('train', args);
  return runTraining(args, resolved, {
    command: 'train',
    steps: resolved.config.train.steps,
    train: trainGrpo,
  });
}
