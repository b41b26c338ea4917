import { join } from 'node:path';
import { cudaDeviceCount } from '@grpo/torch';
import { UserError } from '../config/errors.js';
import type { Config } from '../config/schema.js';
import { loadModel, type Model, writeRandomWeights } from '../models/index.js';
import { writeArithmeticModelFiles } from '../tasks/arithmetic-model.js';

/** Where tensors live: the configured device, or cuda when there is one. */
function resolveDevice(device: Config['device']): string {
  if (device === 'cpu') return 'cpu';
  const found = cudaDeviceCount() > 0;
  if (device === 'cuda' && !found) {
    throw new UserError('device=cuda, but libtorch finds no CUDA device', {
      hint: 'grpo env shows what it finds; device=auto takes the CPU',
    });
  }
  return found ? 'cuda:0' : 'cpu';
}

/** The folder of the model that a run starts from: the configured one, or that of the tiny model in the run folder. */
const initialModel = ({ model, output }: Config) => model ?? join(output, 'model');

/** Loads a model as it is configured: the one that a run starts from unless another folder is given. */
export function openModel(config: Config, dir = initialModel(config)): Model {
  return loadModel(dir, { dtype: config.dtype, device: resolveDevice(config.device) });
}

/** Puts a tiny model for arithmetic, made of the seed, into the run folder: for runs without a configured model. */
export async function makeArithmeticModel(config: Config): Promise<void> {
  const dir = initialModel(config);
  await writeArithmeticModelFiles(dir);
  writeRandomWeights(dir, config.seed);
}
