/** Bytes of what a masked-diffusion model takes while it samples: whole sequences, and logits of their masked places. */
import type { DecoderConfig } from '../models/config.js';
import { type Engine, type LotRow, logitsBytes, passTokenBytes } from './decoding.js';
import { chunkRows } from './pass-bytes.js';

/** The share of a lot's bytes that logits may take; its sequences take the others. */
const LOGITS = 1 / 4;

/** Rows of logits that are drawn from at once; at least 1. */
export const logitRows = (
  config: DecoderConfig,
  engine: Engine,
  lotBytes: number,
  adjusted: boolean,
): number =>
  Math.max(
    1,
    Math.min(
      chunkRows(config.vocabSize),
      Math.floor((LOGITS * lotBytes) / logitsBytes(config, engine, adjusted)),
    ),
  );

/** How many completions, from the first on, are denoised together in so many bytes; at least 1, at most `most`. */
export function sequencesWithin(
  config: DecoderConfig,
  engine: Engine,
  rows: readonly LotRow[],
  { lotBytes, most }: { lotBytes: number; most: number },
): number {
  const room = ((1 - LOGITS) * lotBytes) / passTokenBytes(config, engine);
  let tokens = 0;
  for (const [i, { prompt, limit }] of rows.slice(0, most).entries()) {
    tokens += prompt.length + limit;
    if (i > 0 && tokens > room) return i;
  }
  return Math.min(rows.length, most);
}

/**
 * Bytes of completions that are denoised together: what does not fit into the lot comes later, but a single one is
 * computed whatever it takes.
 *
 * @param completions - their number, and the tokens of the longest with its prompt and without
 */
export function denoisingBytes(
  config: DecoderConfig,
  engine: Engine,
  completions: { count: number; sequence: number; newTokens: number; adjusted: boolean },
  lotBytes: number,
): { sequences: number; logits: number } {
  const { count, sequence, newTokens, adjusted } = completions;
  const one = sequence * passTokenBytes(config, engine);
  const rows = Math.min(count * newTokens, logitRows(config, engine, lotBytes, adjusted));
  return {
    sequences: Math.max(one, Math.min(count * one, (1 - LOGITS) * lotBytes)),
    logits: rows * logitsBytes(config, engine, adjusted),
  };
}
