/** A tiny masked-diffusion decoder. */
import { type DecoderConfig, type DiffusionShape, equalLayers, llamaTraits } from './config.js';

/** @param size - what differs from the usual: the vocabulary must hold the mask */
export function maskedShape(
  diffusion: DiffusionShape,
  size: Pick<DecoderConfig, 'vocabSize'> & Partial<DecoderConfig>,
): DecoderConfig {
  const { layers = 2, headDim = 8 } = size;
  return {
    ...llamaTraits,
    family: 'qwen3',
    hiddenSize: 24,
    intermediateSize: 40,
    layers,
    heads: 4,
    kvHeads: 2,
    headDim,
    maxPositions: 64,
    normEps: 1e-6,
    ...equalLayers({ layers, headDim }, { theta: 10000 }),
    qkNorm: 'head',
    tied: true,
    diffusion,
    ...size,
  };
}
