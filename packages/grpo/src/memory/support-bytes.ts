import type { DecoderConfig } from '../models/config.js';

/** Ids of a token on average where no top-k bounds them: as many as top-p leaves of a policy that is unsure. */
const KEPT = 1024;

/** Bytes of a set beside its ids: its size, and the two log-probs and the length that come with it. */
const HEAD = 16;

/**
 * Bytes of the ids that sampling kept for one token, as `formats/token-sets.ts` codes them: one byte for an id close behind
 * the one before, two or three for one further on, or a bit for each id of the vocabulary where that is less.
 *
 * @param topK - 0 where there is none
 */
export function supportBytes({ vocabSize }: Pick<DecoderConfig, 'vocabSize'>, topK: number): number {
  const kept = Math.min(vocabSize, topK > 0 ? topK : KEPT);
  const further = [2 ** 7, 2 ** 14].map((gap) => Math.min(kept, vocabSize / gap));
  return HEAD + Math.min(vocabSize / 8, kept + further[0]! + further[1]!);
}
