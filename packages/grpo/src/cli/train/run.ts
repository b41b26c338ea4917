import type { Layer } from '../../config/index.js';
import { mergedLayer } from '../../config/layer.js';
import { trainGrpo } from '../../train/index.js';
import { isAssignment } from '../assignment/flags.js';
import { gradingNote, translate } from '../assignment/layer.js';
import { nameModels } from '../assignment/saved-models.js';
import type { CommandArguments } from '../command.js';
import { presetFlag, runTraining, trainingConfig } from '../training.js';

/** `grpo train`: GRPO on a task. */
export async function run(args: CommandArguments): Promise<number> {
  const named = presetFlag(args.flags);
  const resolve = (layer: Layer) => trainingConfig('train', args, mergedLayer([named, layer]));
  const { layer, notes } = translate(args.flags, resolve);
  const resolved = resolve(layer);
  const { preset, output, train, checkpoint } = resolved.config;
  const run = { command: 'train', steps: train.steps, train: trainGrpo } as const;
  if (!isAssignment(preset)) return runTraining(args, resolved, run);
  return runTraining(args, resolved, {
    ...run,
    notes: [...notes, ...gradingNote(resolved.config)],
    saved: ({ dir, step }) => nameModels({ output, dir, step, steps: train.steps, every: checkpoint.every }),
  });
}
