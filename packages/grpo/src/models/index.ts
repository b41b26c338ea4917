export { checksumOf, weightsChecksum } from './checksum.js';
export { type DecoderConfig, equalLayers, llamaTraits } from './config.js';
export { Decoder, OwningDecoder } from './decoder.js';
export { DecodingDecoder } from './decoding-decoder.js';
export { endIdsOf, type ModelFolder, readModelFolder, readShape } from './folder/folder.js';
export { type LoadOptions, loadModel, openModelFolder, type UnloadedModel } from './folder/load.js';
export { ParameterFile } from './folder/load-parameters.js';
export { replaceWeights } from './folder/replace-weights.js';
export { CHANGED_KEYS, parameterBytes, saveModel, WEIGHTS_FILE } from './folder/save.js';
export { initDecoder, writeRandomWeights } from './init.js';
export { adaptedLayers } from './lora/adaptable.js';
export {
  ADAPTER_CONFIG,
  ADAPTER_FILE,
  adapterAccount,
  adapterShape,
  adapterTensor,
  loadAdapter,
} from './lora/adapter-folder.js';
export { mergeLora } from './lora/merge-lora.js';
export { capped, type Scores, scoresOf, windowsOf } from './masked-attention.js';
export type { LoadedModel, Model } from './model.js';
export { evenRows, type PackedSegments, packSegments } from './pack-segments.js';
export { namesOf, type ParameterSpec, parameterSpecs } from './parameters.js';
export { parseConfig } from './parse/parse-config.js';
export { openPass } from './recompute.js';
export { sampleOf } from './sample-of.js';
export { changedTensors, type SampledValues, sampledValues } from './sampled-values.js';
export type { Segment } from './segment.js';
export { loadSequenceClassifier, type SequenceClassifier } from './sequence-classifier.js';
export type { Attend, PackedTokens } from './transformer.js';
