import { decodeAttention, type Tensor, tensor, tidy, zeros } from '@grpo/torch';
import { BLOCK, blocksOf } from '../memory/decoding.js';
import type { Decoder, DecodingDecoder, PackedTokens } from '../models/index.js';
import type { DecodingCache, SharedPrompt } from './decoding-cache.js';

/** Keys and values of a layer, of the prompts or of the rows: a block holds `BLOCK` tokens. */
interface Stored {
  /** `[count, kvHeads, blocks, width, BLOCK]`. */
  keys: Tensor;
  /** `[count, kvHeads, blocks × BLOCK, width]`. */
  values: Tensor;
}

/** A row's entry in the table that the attention reads. */
type Entry = [place: number, prompt: number, promptLength: number, length: number];

/**
 * Keys and values in the layout of `grpo::decode_attention`, which writes and reads them in place. A row has a place of
 * its own and knows its prompt and its length; one that left is not in the table any more, and costs nothing.
 */
export class FusedCache implements DecodingCache {
  readonly #prompts: Stored[];
  readonly #own: Stored[];
  readonly #rows: Entry[];

  /** @param newTokens - to leave room for, a row */
  constructor({ config, dtype, device }: Decoder, prompts: readonly SharedPrompt[], newTokens: number) {
    this.#rows = prompts
      .flatMap(({ length, count }, p) => Array.from({ length: count }, () => [p, length] as const))
      .map(([p, length], place) => [place, p, length, 0]);
    const width = blocksOf(config.headDim) * BLOCK;
    const layers = (count: number, blocks: number): Stored[] =>
      Array.from({ length: config.layers }, () => ({
        keys: zeros([count, config.kvHeads, blocks, width, BLOCK], { dtype, device }),
        values: zeros([count, config.kvHeads, blocks * BLOCK, width], { dtype, device }),
      }));
    // A scope, so that nothing stays when memory runs out half-way.
    [this.#prompts, this.#own] = tidy(() => [
      layers(prompts.length, blocksOf(Math.max(...prompts.map(({ length }) => length)))),
      layers(this.#rows.length, blocksOf(newTokens)),
    ]);
  }

  storePrompt(layer: number, prompt: number, k_PKD: Tensor, v_PKD: Tensor): void {
    const { keys, values } = this.#prompts[layer]!;
    const [length, kvHeads, width] = k_PKD.shape as [number, number, number];
    values.select(0, prompt).narrow(1, 0, length).narrow(2, 0, width).copy_(v_PKD.transpose(0, 1));
    const blocks = keys.select(0, prompt).narrow(2, 0, width);
    const whole = Math.floor(length / BLOCK);
    const rest = length % BLOCK;
    blocks.narrow(1, 0, whole).copy_(
      k_PKD
        .narrow(0, 0, whole * BLOCK)
        .reshape([whole, BLOCK, kvHeads, width])
        .permute([2, 0, 3, 1]),
    );
    if (rest > 0)
      blocks
        .select(1, whole)
        .narrow(2, 0, rest)
        .copy_(k_PKD.narrow(0, whole * BLOCK, rest).permute([1, 2, 0]));
  }

  hidden(decoder: DecodingDecoder, tokens: PackedTokens): Tensor {
    const rows = tensor(this.#rows.flat(), [this.#rows.length, 4], { dtype: 'int64' });
    const hidden = decoder.decode(tokens, (layer, [q, k, v], { rotation, queryNorm, keyNorm }) => {
      const [own, prompt] = [this.#own[layer]!, this.#prompts[layer]!];
      const [cos, sin] = rotation ? [rotation.cos, rotation.sin] : [null, null];
      const stored = [own.keys, own.values, prompt.keys, prompt.values] as const;
      return decodeAttention(q, k, v, ...stored, rows, cos, sin, queryNorm, keyNorm, decoder.config.normEps);
    });
    for (const row of this.#rows) row[3]++;
    return hidden;
  }

  drop(rows: readonly number[]): void {
    for (const row of rows) {
      const last = this.#rows.pop()!;
      if (row < this.#rows.length) this.#rows[row] = last;
    }
  }

  dispose(): void {
    for (const { keys, values } of [...this.#prompts, ...this.#own]) {
      keys.dispose();
      values.dispose();
    }
  }
}
