import { trainExpert } from '../../run/train-expert.js';
import type { CommandArguments } from '../command.js';
import { runTraining, trainingConfig } from '../training.js';

/** `grpo expert`: expert iteration on a task, the baseline beside GRPO. */
export async function run(args: CommandArguments): Promise<number> {
  const resolved = trainingConfig('expert', args);
  const { iterations: steps } = resolved.config.expert;
  return runTraining(args, resolved, { command: 'expert', steps, train: trainExpert });
}
