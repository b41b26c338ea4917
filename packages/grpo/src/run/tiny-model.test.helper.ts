import { join } from 'node:path';
import { compilesEachShape, type DType } from '@grpo/torch';
import { onTestFinished } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { loadModel, type Model, writeRandomWeights } from '../models/index.js';
import { writeArithmeticModelFiles } from '../tasks/arithmetic/arithmetic-model.js';

/** The folder of a model of random weights and a byte tokenizer, gone when the current test ends. */
export async function tinyModelFolder(seed = 1): Promise<string> {
  const dir = join(tempFolder(), 'model');
  await writeArithmeticModelFiles(dir, { hiddenSize: 16, heads: 2, layers: 1, intermediateSize: 32 });
  writeRandomWeights(dir, seed);
  return dir;
}

/** That model, loaded to be trained. */
export async function tinyModel(options: { seed?: number; dtype?: DType } = {}): Promise<Model> {
  const model = loadModel(await tinyModelFolder(options.seed), { dtype: options.dtype ?? 'float32' });
  for (const parameter of model.decoder.parameters.values()) parameter.requiresGrad = true;
  onTestFinished(() => model.decoder.dispose());
  return model;
}

/** Megabytes that any float32 process is taken to need, with compiled products where the processor has them. */
export const PROCESS_MB = compilesEachShape('float32') ? 320 : 260;
