import { type DType, full, scaledDotProductAttention, type Tensor, tidy, zeros } from '@grpo/torch';
import type { Attend, DecoderConfig } from '../models/index.js';

/**
 * Keys and values of the sequences that are being decoded, allocated once and written in place.
 *
 * Row r holds one sequence. All rows write the same column at a step: shorter prompts begin further right, and a mask
 * hides what lies before them.
 */
export class KvCache {
  /** Keys and values a layer, each `[rows, kvHeads, columns, headDim]`. */
  readonly #layers: { k: Tensor; v: Tensor }[];
  /** 0 where a row has a token, −∞ before its first: `[rows, 1, 1, columns]`; absent when all begin at column 0. */
  readonly #mask: Tensor | undefined;
  readonly #config: DecoderConfig;
  /** Columns written so far. */
  #column: number;
  #rows: number;

  /**
   * @param prompts - length of each row's prompt, in tokens
   * @param newTokens - columns to leave room for after the longest prompt
   */
  constructor(
    config: DecoderConfig,
    like: { dtype: DType; device: string },
    prompts: readonly number[],
    newTokens: number,
  ) {
    const longest = Math.max(...prompts);
    const shape = [prompts.length, config.kvHeads, longest + newTokens, config.headDim];
    this.#config = config;
    this.#column = longest;
    this.#rows = prompts.length;
    // A scope, so that nothing stays when memory runs out half-way.
    const { layers, mask } = tidy(() => ({
      layers: Array.from({ length: config.layers }, () => ({ k: zeros(shape, like), v: zeros(shape, like) })),
      mask: prompts.some((length) => length < longest)
        ? maskOf(prompts, longest + newTokens, like)
        : undefined,
    }));
    this.#layers = layers;
    this.#mask = mask;
  }

  /**
   * Stores a layer's keys and values of one prompt `[P, kvHeads, headDim]` in `count` rows from `row`.
   */
  storePrompt(layer: number, row: number, count: number, k_PKD: Tensor, v_PKD: Tensor): void {
    const length = k_PKD.size(0);
    const { k, v } = this.#layers[layer]!;
    for (const [cache, value] of [
      [k, k_PKD],
      [v, v_PKD],
    ] as const) {
      const place = cache.narrow(0, row, count).narrow(2, this.#column - length, length);
      place.copy_(value.transpose(0, 1).unsqueeze(0).expand([count, -1, -1, -1]));
    }
  }

  /** Attention of one new token a row, whose keys and values are stored on the way. */
  readonly attend: Attend = (layer, q, k, v) => {
    const { kvHeads, heads, headDim } = this.#config;
    const rows = this.#rows;
    const seen = (cache: Tensor, value: Tensor) => {
      const live = cache.narrow(0, 0, rows);
      live.narrow(2, this.#column, 1).copy_(value.unsqueeze(2));
      return live.narrow(2, 0, this.#column + 1);
    };
    const cache = this.#layers[layer]!;
    const keys = seen(cache.k, k);
    const values = seen(cache.v, v);
    const mask = this.#mask?.narrow(0, 0, rows).narrow(-1, 0, this.#column + 1) ?? null;
    // The query heads that share a key head stand where queries of one sequence would: no key is copied.
    const grouped = q.view([rows, kvHeads, heads / kvHeads, headDim]);
    return scaledDotProductAttention(grouped, keys, values, mask).view([rows, heads, headDim]);
  };

  /** The column of this step is written in all layers. */
  advance(): void {
    this.#column++;
  }

  /** Drops a row: the last one takes its place. */
  drop(row: number): void {
    const last = this.#rows - 1;
    if (row !== last) {
      tidy(() => {
        for (const cache of this.#layers.flatMap(({ k, v }) => [k, v])) {
          const used = cache.narrow(2, 0, this.#column);
          used.select(0, row).copy_(used.select(0, last));
        }
        this.#mask?.select(0, row).copy_(this.#mask.select(0, last));
      });
    }
    this.#rows = last;
  }

  dispose(): void {
    for (const { k, v } of this.#layers) {
      k.dispose();
      v.dispose();
    }
    this.#mask?.dispose();
  }
}

/** −∞ before the first token of each row, whose prompt ends where the longest does: `[rows, 1, 1, columns]`. */
function maskOf(prompts: readonly number[], columns: number, like: { dtype: DType; device: string }): Tensor {
  const longest = Math.max(...prompts);
  const mask = full([prompts.length, 1, 1, columns], 0, like);
  for (const [row, length] of prompts.entries()) {
    mask
      .select(0, row)
      .narrow(-1, 0, longest - length)
      .fill_(Number.NEGATIVE_INFINITY);
  }
  return mask;
}
