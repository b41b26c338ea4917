import type { Measure } from '../../audit/context.js';
import { auditModelFolder, type ModelSource } from '../../audit/folder/audit-model-folder.js';
import type { Config } from '../../config/schema.js';
import { usesLora } from '../../config/sections/lora.js';
import { modelFolder } from '../../hub/model-folder.js';
import { latestCheckpoint } from '../folder/checkpoint.js';
import { initialModel } from '../model-source.js';
import type { Run } from '../open-run.js';

/** Holds a run's model to the folders that it was loaded from, in the first step of this process. */
export function modelAudit({
  config,
  folder,
  progress,
}: {
  config: Config;
  folder: Pick<Run['folder'], 'checkpoints'>;
  progress: Pick<Run['progress'], 'step'>;
}): Measure {
  const begun = progress.step;
  const checkpoint = begun > 0 ? latestCheckpoint(folder.checkpoints)?.dir : undefined;
  const measure = auditModelFolder(sourceOf(config, checkpoint), begun > 0 ? 'checkpoint' : 'model');
  // Later the weights are others.
  return (context) => (context.step === begun ? measure(context) : { comparisons: [] });
}

function sourceOf(config: Config, checkpoint: string | undefined): ModelSource {
  const model = initialModel(config);
  return usesLora(config)
    ? { dir: modelFolder(model), adapter: checkpoint ?? config.lora.adapter }
    : { dir: modelFolder(checkpoint ?? model) };
}
