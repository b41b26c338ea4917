/** Bytes of what decoding holds beside the weights: keys and values, and what prompts and logits take for a while. */
import type { DecoderConfig } from '../models/config.js';

/** How a model computes: what its numbers take, and whether it has the operators of our own for decoding. */
export interface Engine {
  /** Bytes of one number of the weights. */
  size: 2 | 4;
  /** Whether decoding uses `grpo::decode_attention`, whose cache holds blocks of tokens. */
  fuses: boolean;
}

/** Tokens of a block of the fused cache, and numbers that a head is rounded up to. */
export const BLOCK = 16;

export const blocksOf = (size: number): number => Math.ceil(size / BLOCK);

const inBlocks = (size: number) => blocksOf(size) * BLOCK;

/** Completions that are decoded together. */
export interface LotSize {
  prompts: number;
  /** Longest prompt, in tokens. */
  longest: number;
  rows: number;
  /** Most rows of one prompt. */
  mostPerPrompt: number;
  /** Longest completion, in tokens. */
  newTokens: number;
}

/** Above 1: the cache of other devices is copied as it shrinks to three quarters. */
const SHRINKING = 1.75;

/** Places for so many times the completions that are there, where some join others: not each time all are moved. */
export const JOINING = 1.5;

/** Bytes of the keys and values of a lot. */
export function cacheBytes(
  config: DecoderConfig,
  { size, fuses }: Engine,
  { prompts, longest, rows, mostPerPrompt, newTokens }: LotSize,
): number {
  const { layers, kvHeads, headDim } = config;
  const perToken = (width: number) => 2 * layers * kvHeads * width * size;
  return fuses
    ? perToken(inBlocks(headDim)) * (prompts * inBlocks(longest) + rows * inBlocks(newTokens))
    : perToken(headDim) * SHRINKING * (prompts * longest + prompts * mostPerPrompt * newTokens);
}

/** Of float32 copies of a row's logits: penalties, truncation and float64 sums make several. */
const ADJUSTED = 16;

/**
 * Bytes of the logits of one row, from the product to the draw.
 *
 * @param adjusted - the draw is not from the model's own distribution
 */
export const logitsBytes = (
  { vocabSize }: DecoderConfig,
  { size, fuses }: Engine,
  adjusted: boolean,
): number => vocabSize * (size + 4 + (adjusted || !fuses ? 4 * ADJUSTED : 0));

/** Bytes of one token of a pass without gradients: what a layer computes is freed at its end. */
export function passTokenBytes(config: DecoderConfig, { size }: Engine): number {
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim } = config;
  const attention = 2 * (heads + 2 * kvHeads) * headDim;
  return size * (6 * hiddenSize + attention + 4 * intermediateSize);
}

/** The share of a lot's bytes that its prompts may take while they are computed. */
const PREFILL = 1 / 4;

/** Prompts that are computed together, as the index of the first of each part: their tokens take a share of the lot. */
export function prefillParts(
  config: DecoderConfig,
  engine: Engine,
  lengths: readonly number[],
  lotBytes: number,
): { from: number; to: number }[] {
  const most = (PREFILL * lotBytes) / passTokenBytes(config, engine);
  const parts: { from: number; to: number }[] = [];
  for (let from = 0; from < lengths.length; ) {
    let to = from + 1;
    let tokens = lengths[from]!;
    while (to < lengths.length && tokens + lengths[to]! <= most) tokens += lengths[to++]!;
    parts.push({ from, to });
    from = to;
  }
  return parts;
}

/** A completion that is to be decoded. */
export interface LotRow {
  /** Its prompt; neighbours with the same one share it. */
  prompt: readonly number[];
  /** Longest completion, in tokens. */
  limit: number;
}

/** How many of the rows, from the first on, are decoded together in so many bytes; at least 1, at most `most`. */
export function rowsWithin(
  config: DecoderConfig,
  engine: Engine,
  rows: readonly LotRow[],
  { lotBytes, adjusted, most }: { lotBytes: number; adjusted: boolean; most: number },
): number {
  const perRow = logitsBytes(config, engine, adjusted);
  const lot: LotSize = { prompts: 0, longest: 0, rows: 0, mostPerPrompt: 0, newTokens: 0 };
  let ofPrompt = 0;
  for (const [i, { prompt, limit }] of rows.slice(0, most).entries()) {
    if (i === 0 || prompt !== rows[i - 1]!.prompt) {
      lot.prompts++;
      ofPrompt = 0;
    }
    lot.rows++;
    lot.mostPerPrompt = Math.max(lot.mostPerPrompt, ++ofPrompt);
    lot.longest = Math.max(lot.longest, prompt.length);
    lot.newTokens = Math.max(lot.newTokens, limit);
    if (i > 0 && cacheBytes(config, engine, lot) + lot.rows * perRow > lotBytes) return i;
  }
  return Math.min(rows.length, most);
}
