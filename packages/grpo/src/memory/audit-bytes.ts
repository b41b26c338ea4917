import type { DecoderConfig } from '../models/config.js';
import type { Engine } from './decoding.js';
import { layerCount } from './holdings.js';
import type { Backward } from './pass-bytes.js';

/** Completions that a step computes again, each with its prompt. */
export interface AuditSize {
  /** Tokens of all. */
  tokens: number;
  /** Tokens of the longest. */
  longest: number;
}

const FLOAT32 = 4;

/** Parts of the vocabulary projection, and of what is made of them: 64 MiB each, and of logits twelve times a quarter. */
const VOCABULARY = 5 * 2 ** 26;

/** What each layer takes and gives of each completion: it is kept from the first pass to the last. */
export const stateBytes = ({ layers, hiddenSize }: DecoderConfig, { tokens }: AuditSize): number =>
  FLOAT32 * (layers + 1) * tokens * hiddenSize;

/**
 * Bytes of the second computation of a step's completions beside the states of its layers: in float32 whatever the run
 * computes in, one layer and one completion at a time, with all values of its attention.
 */
export function auditBytes(
  config: DecoderConfig,
  { size }: Engine,
  { longest }: AuditSize,
  { reaches }: Backward,
): number {
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, vocabSize } = config;
  const weights = layerCount(config);
  const copy = size < FLOAT32 ? weights : 0;
  // Of one completion, and their sum.
  const gradients = reaches === 'weights' ? 2 * weights : 0;
  const values =
    longest * (20 * hiddenSize + 12 * (heads + 2 * kvHeads) * headDim + 8 * intermediateSize) +
    8 * heads * longest ** 2;
  const vocabulary = Math.min(VOCABULARY, FLOAT32 * vocabSize * (hiddenSize + 4 * longest));
  return Math.max(FLOAT32 * (copy + gradients + values), vocabulary);
}
