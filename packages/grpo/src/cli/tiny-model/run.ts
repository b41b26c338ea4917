import { UsageError } from '../../config/index.js';
import { writeTinyModel } from '../../library/tiny-model.js';
import type { CommandArguments } from '../command.js';

/** `grpo tiny-model`: writes a model folder with random weights. */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  const [folder, ...more] = operands;
  if (folder === undefined || more.length > 0) {
    throw new UsageError('grpo tiny-model needs one folder for the model.', {
      hint: 'For instance: grpo tiny-model models/tiny',
    });
  }
  const seed = flags.seed === undefined ? 0 : Number(flags.seed);
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new UsageError(`--seed is a whole number of 0 or more, found '${flags.seed}'.`);
  await writeTinyModel(folder, { seed });
  process.stdout.write(
    `Model: ${folder} (0.4 million random weights, a token for each byte of text, a chat template)\n` +
      `It knows nothing yet. Teach it the form of your answers first: grpo sft model=${folder} task.data=FILE. Then train it from the last checkpoint of that run.\n`,
  );
  return 0;
}
