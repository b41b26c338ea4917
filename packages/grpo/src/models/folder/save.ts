import { join } from 'node:path';
import { byteParts, type DType, type Tensor } from '@grpo/torch';
import { writeFileAtomic } from '../../formats/atomic-file.js';
import { makeFolder } from '../../formats/make-folder.js';
import { type SafetensorsDtype, type TensorEntry, writeSafetensors } from '../../formats/safetensors.js';
import type { Watch } from '../../progress/watch.js';
import type { Decoder } from '../decoder.js';
import { saveAdapter } from '../lora/adapter-folder.js';
import type { Model } from '../model.js';
import { parameterSpecs } from '../parameters.js';

const dtypes: Partial<Record<DType, SafetensorsDtype>> = {
  float64: 'F64',
  float32: 'F32',
  float16: 'F16',
  bfloat16: 'BF16',
};

/** The weights of a model's folder. */
export const WEIGHTS_FILE = 'model.safetensors';

/** Keys of `config.json` that saving changes: the dtype is the decoder's, under its present name. */
export const CHANGED_KEYS: readonly string[] = ['torch_dtype', 'dtype'];

/** Whole numbers that transformers takes as floats only: it refuses a soft cap of 30, and reads one of 30.0. */
const FLOATS = /("(?:attn|final)_logit_softcapping": \d+)(?=,?$)/gm;

/**
 * Writes a model as a Hugging Face folder that transformers and `loadModel` read, weights in the decoder's dtype; of a
 * model with adapters only these, as PEFT reads them. Each file appears whole or not at all.
 *
 * @throws FileError: the system refuses to write.
 */
export function saveModel(model: Model, dir: string, watch?: Watch): void {
  const { decoder } = model;
  if (decoder.lora) saveAdapter(decoder.lora, decoder.config, dir);
  else saveWhole(model, dir, watch);
}

function saveWhole(model: Model, dir: string, watch: Watch | undefined): void {
  const { decoder } = model;
  makeFolder(dir);
  for (const [name, bytes] of model.files) writeFileAtomic(join(dir, name), bytes);
  const unchanged = Object.entries(model.configJson).filter(([key]) => !CHANGED_KEYS.includes(key));
  const json = JSON.stringify({ ...Object.fromEntries(unchanged), dtype: decoder.dtype }, null, 2);
  writeFileAtomic(join(dir, 'config.json'), `${json.replace(FLOATS, '$1.0')}\n`);
  saveWeights(decoder, dir, watch);
}

/** Writes the file of the weights. */
export function saveWeights(decoder: Decoder, dir: string, watch?: Watch): void {
  writeSafetensors(join(dir, WEIGHTS_FILE), entries(decoder), { format: 'pt' }, { watch, sums: true });
}

function* entries(decoder: Decoder): Iterable<TensorEntry> {
  for (const [name, spec] of parameterSpecs(decoder.config)) {
    const parameter = decoder.parameters.get(name) as Tensor;
    yield {
      name,
      dtype: dtypes[parameter.dtype]!,
      shape: spec.shape,
      data: () => parameterBytes(parameter, spec),
    };
  }
}

/** A parameter's bytes in the order of the file, in parts. */
export function* parameterBytes(
  parameter: Tensor,
  { transposed }: { transposed?: boolean | undefined },
): Generator<Uint8Array> {
  if (!transposed) return yield* byteParts(parameter);
  using turned = parameter.detach().t();
  yield* byteParts(turned);
}
