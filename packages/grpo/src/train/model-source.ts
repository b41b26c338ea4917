import { join } from 'node:path';
import { cudaDeviceCount } from '@grpo/torch';
import { UserError } from '../config/errors.js';
import type { Config } from '../config/schema.js';
import { loadModel, type Model, writeRandomWeights } from '../models/index.js';
import { writeArithmeticModelFiles } from '../tasks/arithmetic-model.js';

/** Where tensors live: the configured device, or cuda when there is one. */
export function resolveDevice(device: Config['device']): string {
  if (device === 'cpu') return 'cpu';
  const found = cudaDeviceCount() > 0;
  if (device === 'cuda' && !found) {
    throw new UserError('device=cuda, but libtorch finds no CUDA device', {
      hint: 'grpo env shows what it finds; device=auto takes the CPU',
    });
  }
  return found ? 'cuda:0' : 'cpu';
}

/**
 * The model that a run starts from: the configured folder, or for arithmetic a tiny one made of the seed, which is
 * left in the run folder.
 */
export async function openModel(config: Config): Promise<Model> {
  const options = { dtype: config.dtype, device: resolveDevice(config.device) };
  if (config.model !== undefined) return loadModel(config.model, options);
  if (config.task.name !== 'arithmetic') {
    throw new UserError('no model is set', {
      hint: 'model=PATH takes a Hugging Face folder (config.json, *.safetensors, tokenizer.json)',
    });
  }
  const dir = join(config.output, 'model');
  await writeArithmeticModelFiles(dir);
  writeRandomWeights(dir, config.seed);
  return loadModel(dir, options);
}
