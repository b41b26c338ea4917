import type { DecoderConfig } from './config.js';
import { namesOf } from './parameters.js';

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
  const held = kind.recompute ? layers * hiddenSize * kind.size + layer : layers * layer;
  return tokens * (held + workBytes(config, kind) + ends);
}

/** Bytes that autograd holds of one layer for one token. */
function layerBytes(config: DecoderConfig, { size, adapterInputs }: PassKind): number {
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, layers, gated, qkNorm, normPlacement } =
    config;
  const [queries, keys] = [heads * headDim, kvHeads * headDim];
  // Inputs and output of attention; inputs and output of the activation.
  const blocks = size * (2 * queries + 2 * keys + (gated ? 3 : 2) * intermediateSize);
  // An adapter holds its input in float32; a frozen projection needs none of its own.
  const copied = adapterInputs !== undefined && size < 4;
  const inputs = copied ? (4 * adapterInputs) / layers : 0;
  // Two norms, with their outputs where a projection needs them.
  const norms = (normPlacement === 'both' ? 2 : 1) * (copied ? 2 : 4) * size * hiddenSize;
  return blocks + inputs + norms + (qkNorm !== 'none' ? size * (queries + keys) : 0);
}

/** Bytes for one token that the backward pass of one layer has at hand, mostly gradients in its feed-forward block. */
function workBytes(config: DecoderConfig, { size, adapterInputs }: PassKind): number {
  const { hiddenSize, intermediateSize, gated } = config;
  // Frozen weights need one input less; in half precision adapters have copies in float32.
  const adapted = adapterInputs === undefined ? 0 : size < 4 ? 2 : -1;
  // Gradients of gate and factor are put together for a projection that has both.
  const fused = gated && namesOf(config).layer(0).gateUp.length === 1 ? 2 : 0;
  const inner = (gated ? 4 : 3) + adapted + fused;
  return size * (inner * intermediateSize + 2 * hiddenSize);
}
