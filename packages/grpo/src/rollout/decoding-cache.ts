import type { Tensor } from '@grpo/torch';
import type { DecodingDecoder, PackedTokens } from '../models/index.js';

/** A prompt in the cache and the rows that continue it. */
export interface SharedPrompt {
  /** In tokens. */
  length: number;
  /** Rows, which stand side by side. */
  count: number;
  /** Tokens to leave room for, per row. */
  newTokens: number;
}

/**
 * Keys and values of the sequences that are being decoded; a prompt's are there once, however many rows continue it.
 * Without rows it holds nothing.
 */
export interface DecodingCache {
  /** Makes room for further prompts, whose rows come after those that are there. */
  join(prompts: readonly SharedPrompt[]): void;
  /**
   * Stores a layer's keys and values of one prompt `[P, kvHeads, headDim]`.
   *
   * @param prompt - its place among those that joined last
   */
  storePrompt(layer: number, prompt: number, k_PKD: Tensor, v_PKD: Tensor): void;
  /**
   * The decoder's hidden states `[N, hiddenSize]` of one new token per row, which is in the cache from then on. They may be
   * overwritten by the next call.
   */
  hidden(decoder: DecodingDecoder, tokens: PackedTokens): Tensor;
  /** Drops rows, given from the last to the first: each time the last row takes the place of the dropped one. */
  drop(rows: readonly number[]): void;
  dispose(): void;
}
