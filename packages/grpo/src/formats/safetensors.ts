/** safetensors: the tensors of a model as plain bytes, one file or several, without a tensor engine. */

export { DTYPE_BYTES, type SafetensorsDtype } from './safetensors/dtype.js';
export { SafetensorsFile } from './safetensors/file.js';
export type { TensorInfo } from './safetensors/header.js';
export { type Checkpoint, openCheckpoint } from './safetensors/open-checkpoint.js';
export { sumOf } from './safetensors/sums.js';
export { type TensorEntry, writeSafetensors } from './safetensors/writer.js';
