/** A tiny masked-diffusion decoder. */
import type { DecoderConfig, DiffusionShape } from './config.js';

/** @param size - what differs from the usual: the vocabulary must hold the mask */
export const maskedShape = (
  diffusion: DiffusionShape,
  size: Pick<DecoderConfig, 'vocabSize'> & Partial<DecoderConfig>,
): DecoderConfig => ({
  family: 'qwen3',
  hiddenSize: 24,
  intermediateSize: 40,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  maxPositions: 64,
  normEps: 1e-6,
  activation: 'silu',
  ropeTheta: 10000,
  qkvBias: false,
  outputBias: false,
  mlpBias: false,
  qkNorm: true,
  tied: true,
  diffusion,
  ...size,
});
