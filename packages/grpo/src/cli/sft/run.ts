import { trainSft } from '../../run/train-sft.js';
import type { CommandArguments } from '../command.js';
import { runTraining, trainingConfig } from '../training.js';

/** `grpo sft`: supervised fine-tuning on a task's demonstrations. */
export async function run(args: CommandArguments): Promise<number> {
  const resolved = trainingConfig('sft', args);
  return runTraining(args, resolved, { command: 'sft', steps: resolved.config.sft.steps, train: trainSft });
}
