export { type DecoderConfig, parseConfig } from './config.js';
export { type Attend, Decoder, type PackedTokens } from './decoder.js';
export { initDecoder, writeRandomWeights } from './init.js';
export { loadModel } from './load.js';
export type { Model } from './model.js';
export { type Packed, pack, type Segment } from './packed.js';
export { parameterSpecs } from './parameters.js';
export { saveModel } from './save.js';
