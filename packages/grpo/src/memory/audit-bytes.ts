import type { DecoderConfig } from '../models/config.js';
import type { Engine } from './decoding.js';
import { layerCount } from './holdings.js';
import type { Backward } from './pass-bytes.js';

/** Completions that a step computes again, each with its prompt. */
export interface AuditSize {
  /** Tokens of all. */
  tokens: number;
  /** The same where completions of one prompt share its tokens. */
  packed: number;
  /** Tokens of the longest. */
  longest: number;
  /** Tokens that are scored: of the longest completion, and of all. */
  scored: { longest: number; all: number };
}

const FLOAT32 = 4;

/** Scores of attention that are there at once, but of one query at least. */
const SCORES = 2 ** 24;

/** Numbers of the vocabulary projection, and of logits, that are there at once; and of logits that are judged at once. */
const [PART, JUDGED] = [2 ** 24, 2 ** 21];

/** Copies of logits that their truncation takes, some of them in float64. */
const COPIES = 18;

/** What each layer takes and gives of each completion: it is kept from the first pass to the last. */
export const stateBytes = ({ layers, hiddenSize }: DecoderConfig, { tokens }: AuditSize): number =>
  FLOAT32 * (layers + 1) * tokens * hiddenSize;

/**
 * Bytes of the second computation of a step's completions beside the states of its layers: in float32 whatever the run
 * computes in, one layer and one completion at a time. In half precision, the layer that
 * trains is computed beside it with all completions, and the plain one once more where they differ.
 *
 * @param backward - of the pass that trains; none of an evaluation
 */
export function auditBytes(
  config: DecoderConfig,
  { size }: Engine,
  { packed, longest, scored }: AuditSize,
  backward?: Backward,
): number {
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, vocabSize } = config;
  const weights = layerCount(config);
  const isHalf = size < FLOAT32;
  const copies = isHalf ? 2 * weights : 0;
  // Of one completion, and their sum; and those of the layer that trains, in both precisions.
  const gradients = backward?.reaches === 'weights' ? (isHalf ? 4 : 2) * weights : 0;
  const perToken = 20 * hiddenSize + 12 * (heads + 2 * kvHeads) * headDim + 8 * intermediateSize;
  const scores = Math.min(heads * longest ** 2, Math.max(SCORES, heads * longest));
  const values = longest * perToken + 5 * scores;
  const trained = isHalf && backward ? packed * (perToken * (size / FLOAT32) + 12 * hiddenSize) : 0;
  const logits = vocabSize * scored.longest;
  const vocabulary =
    Math.min(PART, vocabSize * hiddenSize) + Math.min(PART, logits) + COPIES * Math.min(JUDGED, logits);
  return FLOAT32 * Math.max(copies + gradients + values + trained, vocabulary);
}
