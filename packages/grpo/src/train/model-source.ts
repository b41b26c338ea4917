import { join } from 'node:path';
import type { ResolvedConfig } from '../config/index.js';
import type { Config } from '../config/schema.js';
import { sweepTemporary } from '../formats/atomic-file.js';
import { pinModel } from '../hub/model-folder.js';
import { loadModel, type Model, writeRandomWeights } from '../models/index.js';
import { writeArithmeticModelFiles } from '../tasks/arithmetic-model.js';
import { resolveDevice } from './device.js';

/** The model that a run starts from: the configured one, or the tiny one in the run folder. */
const initialModel = ({ model, output }: Config) => model ?? join(output, 'model');

/** A model of a hub by its commit, so that the run stays the same one, resumed too, when the branch moves on. */
export function withPinnedModel(resolved: ResolvedConfig): ResolvedConfig {
  const { config, provenance } = resolved;
  const model = config.model === undefined ? undefined : pinModel(config.model);
  if (model === undefined || model === config.model) return resolved;
  return {
    ...resolved,
    config: { ...config, model },
    provenance: { ...provenance, model: `${provenance.model} (${config.model})` },
  };
}

/** Loads a model as it is configured: the one that a run starts from unless another folder is given. */
export function openModel(config: Config, dir = initialModel(config)): Model {
  return loadModel(dir, { dtype: config.dtype, device: resolveDevice(config.device) });
}

/** Puts a tiny model for arithmetic, made of the seed, into the run folder: for runs without a configured model. */
export async function makeArithmeticModel(config: Config): Promise<void> {
  const dir = initialModel(config);
  sweepTemporary(dir);
  await writeArithmeticModelFiles(dir);
  writeRandomWeights(dir, config.seed);
}
