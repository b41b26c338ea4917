import type { DecoderConfig } from './config.js';

/** Traits of a forward and backward pass that decide how much it holds. */
export interface PassKind {
  /** Bytes of a weight: 4 in float32, 2 in half precision. */
  size: 2 | 4;
  /** Inputs of all adapted projections of the model, added up; all weights are trained where it is left out. */
  adapterInputs?: number | undefined;
  /** Layer after layer is computed again in the backward pass. */
  recompute: boolean;
}

/**
 * Bytes that a forward and backward pass through the layers takes at its peak, beside weights, gradients and logits.
 * Proportional to the tokens, each prompt counted once; of attention nothing grows with their square.
 */
export function activationBytes(config: DecoderConfig, tokens: number, kind: PassKind): number {
  const { layers, hiddenSize } = config;
  // Output of the last layer, and the final norm.
  const ends = 3 * hiddenSize * kind.size;
  const layer = layerBytes(config, kind);
  if (!kind.recompute) return tokens * (layers * layer + ends);
  return tokens * (layers * hiddenSize * kind.size + layer + workBytes(config, kind) + ends);
}

/** Bytes that autograd holds of one layer for one token. */
function layerBytes(config: DecoderConfig, { size, adapterInputs }: PassKind): number {
  const { intermediateSize, heads, kvHeads, headDim, layers, gated, qkNorm } = config;
  const [queries, keys] = [heads * headDim, kvHeads * headDim];
  const half = size < 4;
  // Inputs and output of attention; input and output of the activation, its factor and the product.
  const blocks = size * (2 * queries + 2 * keys + (gated ? 4 : 2) * intermediateSize);
  // An adapter holds its input in float32.
  const inputs = adapterInputs !== undefined && half ? (4 * adapterInputs) / layers : 0;
  return (
    blocks +
    inputs +
    normBytes(config, { size, adapterInputs }) +
    (qkNorm !== 'none' ? (half ? 10 : 8) * (queries + keys) : 0)
  );
}

/** Bytes that the norms of a layer hold for one token: inputs and outputs; an RMS norm computes in float32. */
function normBytes(
  { hiddenSize, norm, normPlacement }: DecoderConfig,
  { size, adapterInputs }: Omit<PassKind, 'recompute'>,
): number {
  const pairs = normPlacement === 'both' ? 2 : 1;
  const pair = () => {
    if (adapterInputs === undefined) return 4 * size + (norm === 'layer' ? 0 : 16);
    if (size === 4) return 4 * size;
    return norm === 'layer' ? 2 * size : 8;
  };
  return pairs * pair() * hiddenSize;
}

/** Bytes for one token that the backward pass of one layer has at hand, mostly gradients in its feed-forward block. */
function workBytes(
  { hiddenSize, intermediateSize, gated, qkNorm, heads, kvHeads, headDim }: DecoderConfig,
  { size, adapterInputs }: PassKind,
): number {
  // Frozen weights need one input less; in half precision adapters have copies in float32.
  const adapted = adapterInputs === undefined ? 0 : size < 4 ? 2 : -1;
  const inner = (gated ? 5 : 3) + adapted;
  // Norms of queries and keys compute in float32, and so do their gradients.
  const headNorms = qkNorm !== 'none' && size < 4 ? 8 * (heads + kvHeads) * headDim : 0;
  return size * (inner * intermediateSize + 2 * hiddenSize) + headNorms;
}
