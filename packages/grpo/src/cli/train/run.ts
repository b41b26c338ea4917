import type { Layer } from '../../config/index.js';
import { mergedLayer } from '../../config/layers/layer.js';
import { rendezvous } from '../../processes/rendezvous.js';
import { trainGrpo } from '../../run/train-grpo.js';
import type { CommandArguments } from '../command.js';
import { runTraining, trainingConfig } from '../training.js';
import { dialects } from './dialects.js';
import { followRun } from './follow-run.js';
import { runSweep } from './sweep.js';

/** `grpo train`: GRPO on a task. */
export async function run(args: CommandArguments): Promise<number> {
  const named = presetLayer(args.flags);
  const resolve = (layer: Layer) => trainingConfig('train', args, mergedLayer([named, layer]));
  const flagDialect = dialects.find(({ flags }) =>
    Object.keys(args.flags).some((name) => Object.hasOwn(flags, name)),
  );
  const translation = (await flagDialect?.load())?.translate(args.flags, resolve);
  if (args.flags.sweep) return runSweep(args, mergedLayer([named, translation?.layer ?? mergedLayer([])]));
  const resolved = resolve(translation?.layer ?? mergedLayer([]));
  const { config } = resolved;
  const place = rendezvous();
  if (place && place.rank > 0) return followRun(resolved, place.rank);
  const dialect = await dialects.find(({ presets }) => presets.includes(config.preset ?? ''))?.load();
  return runTraining(args, resolved, {
    command: 'train',
    steps: config.train.steps,
    train: trainGrpo,
    notes: [...(translation?.notes ?? []), ...(dialect?.notesOn(config) ?? [])],
    ...(dialect && { saved: (checkpoint) => dialect.saved(checkpoint, config) }),
  });
}

/** `--preset NAME` as a setting. */
function presetLayer({ preset }: CommandArguments['flags']): Layer {
  const entry = ['preset', { value: preset, source: '--preset' }] as const;
  return { entries: new Map(preset === undefined ? [] : [entry]), problems: [] };
}
