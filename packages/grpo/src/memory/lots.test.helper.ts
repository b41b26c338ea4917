/** Completions of a tiny model, to be cut into lots. */
import { type DecoderConfig, equalLayers, llamaTraits } from '../models/config.js';
import type { Engine } from './decoding.js';

export const config: DecoderConfig = {
  ...llamaTraits,
  family: 'qwen2',
  vocabSize: 1000,
  hiddenSize: 64,
  intermediateSize: 128,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
  ...equalLayers({ layers: 2, headDim: 16 }, { theta: 10000 }),
  maxPositions: 64,
  normEps: 1e-6,
  qkvBias: true,
  tied: true,
};

export const engine: Engine = { size: 4, fuses: true };

/** Three prompts of 10, 20 and 30 tokens with two completions of up to 16 tokens each. */
export const rows = [10, 20, 30].flatMap((length) => {
  const prompt = Array<number>(length).fill(1);
  return [16, 16].map((limit) => ({ prompt, limit }));
});
