/** Bytes of forward and backward passes. */

import { activationBytes } from '../models/activation-bytes.js';
import type { DecoderConfig } from '../models/config.js';
import { adaptedLayers } from '../models/lora/adaptable.js';
import { type Engine, passTokenBytes } from './decoding.js';

/** Logits of a chunk, unless the least rows have more: in float32 64 MiB. */
const CHUNK_LOGITS = 2 ** 24;
/** A product of fewer rows is slow, one of more no faster. */
const [LEAST_ROWS, MOST_ROWS] = [1024, 2048];

/** Rows of logits that are computed at once where tokens are scored. */
export const chunkRows = (vocabSize: number): number =>
  Math.max(LEAST_ROWS, Math.min(MOST_ROWS, Math.floor(CHUNK_LOGITS / vocabSize)));

/** Tokens that are computed in one pass. */
export interface Pass {
  /** All of them, each prompt once. */
  tokens: number;
  /** Those that are scored. */
  scored: number;
}

/** What a backward pass does. */
export interface Backward {
  /** What it reaches: all weights, or adapters of these layers. */
  reaches: 'weights' | { targets: readonly string[] | undefined };
  /** Whether it computes each layer again, from the layer's input. */
  recomputes: boolean;
}

/** Bytes of so many tokens of a forward and backward pass through the layers. */
function activations(config: DecoderConfig, { size }: Engine, tokens: number, backward: Backward): number {
  const { reaches, recomputes } = backward;
  const adapterInputs =
    reaches === 'weights'
      ? undefined
      : adaptedLayers(config, reaches.targets).reduce((sum, [, input]) => sum + input, 0);
  return activationBytes(config, tokens, { size, adapterInputs, recompute: recomputes });
}

/** Bytes of a forward and backward pass, or of a forward pass alone. */
export function passBytes(config: DecoderConfig, engine: Engine, pass: Pass, backward?: Backward): number {
  const { tokens } = pass;
  const layer = tokens * passTokenBytes(config, engine);
  const vocabulary = vocabularyBytes(config, engine, pass, backward);
  if (backward === undefined) return Math.max(layer, vocabulary);
  return activations(config, engine, tokens, backward) + Math.max(layer, vocabulary);
}

/** Bytes that scoring takes beside hidden states: chunks of logits and their gradient, and the gradient of the head. */
function vocabularyBytes(
  { vocabSize, hiddenSize }: DecoderConfig,
  { size, fuses }: Engine,
  { scored }: Pass,
  backward: Backward | undefined,
): number {
  const chunks = Math.max(1, Math.ceil(scored / chunkRows(vocabSize)));
  const logits = Math.ceil(scored / chunks) * vocabSize * (fuses ? size : size + 8);
  if (backward === undefined) return logits;
  const head = backward.reaches === 'weights' ? vocabSize * hiddenSize * (chunks > 1 ? size + 4 : size) : 0;
  // Gradients take the place of logits where kernels compute them; those of the last chunk are kept.
  return (fuses ? Math.min(chunks, 2) : 3) * logits + head;
}

/** What is left of so many bytes for activations, beside logits and their gradients. */
export function activationRoom(
  config: DecoderConfig,
  engine: Engine,
  backward: Backward,
  bytes: number,
): number {
  const scored = 2 * chunkRows(config.vocabSize);
  return Math.max(0, bytes - vocabularyBytes(config, engine, { tokens: scored, scored }, backward));
}

/** How many tokens a forward and backward pass may have in so many bytes; 0 where even one does not fit. */
export function tokensWithin(
  config: DecoderConfig,
  engine: Engine,
  backward: Backward,
  bytes: number,
): number {
  const perToken = activations(config, engine, 1, backward) + passTokenBytes(config, engine);
  return Math.floor(activationRoom(config, engine, backward, bytes) / perToken);
}
