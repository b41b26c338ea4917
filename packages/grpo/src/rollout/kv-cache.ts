import { cat, type DType, full, keep, type Tensor, tensor, tidy, zeros } from '@grpo/torch';
import type { Attend, Decoder, DecoderConfig, PackedTokens } from '../models/index.js';
import type { DecodingCache, SharedPrompt } from './decoding-cache.js';

/** Keys and values of a layer. */
interface Layer {
  /** Of the prompts: `[prompts, kvHeads, longest prompt, headDim]`. */
  prompt: { k: Tensor; v: Tensor };
  /** Of what was generated: `[prompts, places, kvHeads, columns, headDim]`. */
  own: { k: Tensor; v: Tensor };
}

/** Rows leave: once no more than this share of the places is taken, the cache moves into a smaller one. */
const SPARSE = 0.75;

/**
 * The cache on devices and dtypes that have no operator of our own. It is written in place, and the queries of a
 * prompt's rows meet the prompt together.
 *
 * The rows of a prompt have places side by side; all write the same column at a step. Places whose row has left are
 * computed along, without effect.
 */
export class KvCache implements DecodingCache {
  readonly #config: DecoderConfig;
  readonly #like: { dtype: DType; device: string };
  #prompts: SharedPrompt[];
  /** Places a prompt. */
  #places: number;
  #layers: Layer[];
  /** 0 where a prompt has a token, −∞ behind its last: `[prompts, 1, 1, longest]`; absent when all are as long. */
  #mask: Tensor | undefined;
  /** Place of each row among all. */
  #placeOf: number[];
  /** Where rows and places are not the same: the place of each row, and a row for each place. */
  #order: { places_N: Tensor; rows_S: Tensor } | undefined;
  /** Columns written so far. */
  #column = 0;

  /** @param newTokens - columns to leave room for */
  constructor(
    config: DecoderConfig,
    like: { dtype: DType; device: string },
    prompts: readonly SharedPrompt[],
    newTokens: number,
  ) {
    this.#config = config;
    this.#like = like;
    this.#prompts = prompts.map((prompt) => ({ ...prompt }));
    this.#places = Math.max(...prompts.map(({ count }) => count));
    this.#placeOf = prompts.flatMap(({ count }, p) =>
      Array.from({ length: count }, (_, i) => p * this.#places + i),
    );
    const longest = Math.max(...prompts.map(({ length }) => length));
    const { kvHeads, headDim } = config;
    const pair = (shape: number[]) => ({ k: zeros(shape, like), v: zeros(shape, like) });
    // A scope, so that nothing stays when memory runs out half-way.
    const made = tidy(() => ({
      layers: Array.from({ length: config.layers }, () => ({
        prompt: pair([prompts.length, kvHeads, longest, headDim]),
        own: pair([prompts.length, this.#places, kvHeads, newTokens, headDim]),
      })),
      mask: maskOf(prompts, like),
      order: this.#orderOf(),
    }));
    this.#layers = made.layers;
    this.#mask = made.mask;
    this.#order = made.order;
  }

  storePrompt(layer: number, prompt: number, k_PKD: Tensor, v_PKD: Tensor): void {
    const { k, v } = this.#layers[layer]!.prompt;
    k.select(0, prompt).narrow(1, 0, k_PKD.size(0)).copy_(k_PKD.transpose(0, 1));
    v.select(0, prompt).narrow(1, 0, v_PKD.size(0)).copy_(v_PKD.transpose(0, 1));
  }

  /** Attention of one new token a row, whose keys and values are stored on the way. */
  readonly #attend: Attend = (layer, q, k, v) => {
    const { kvHeads, heads, headDim } = this.#config;
    const [P, G, K, R] = [this.#prompts.length, this.#places, kvHeads, heads / kvHeads];
    const { prompt, own } = this.#layers[layer]!;
    const placed = (x: Tensor) => (this.#order ? x.indexSelect(0, this.#order.rows_S) : x);
    const seen = (cache: Tensor, values: Tensor) => {
      cache.narrow(3, this.#column, 1).copy_(placed(values).view([P, G, K, 1, headDim]));
      return cache.narrow(3, 0, this.#column + 1);
    };
    const keys = seen(own.k, k);
    const values = seen(own.v, v);
    // The query heads of a key head stand where queries of one sequence would, and with a prompt's those of all its rows.
    const query = placed(q).view([P, G, K, R, headDim]);
    const together = (x: Tensor) => x.transpose(1, 2).reshape([P, K, G * R, -1]);
    const apart = (x: Tensor) => x.view([P, K, G, R, -1]).transpose(1, 2);
    const onPrompt = together(query).matmul(prompt.k.transpose(-2, -1));
    const weights = cat(
      [apart(this.#mask ? onPrompt.add(this.#mask) : onPrompt), query.matmul(keys.transpose(-2, -1))],
      -1,
    )
      .to('float32')
      .mul(1 / Math.sqrt(headDim))
      .softmax(-1)
      .to(q.dtype);
    const longest = prompt.k.size(2);
    const out = apart(together(weights.narrow(-1, 0, longest)).matmul(prompt.v))
      .add(weights.narrow(-1, longest, this.#column + 1).matmul(values))
      .reshape([P * G, heads, headDim]);
    return this.#order ? out.indexSelect(0, this.#order.places_N) : out;
  };

  hidden(decoder: Decoder, tokens: PackedTokens): Tensor {
    const hidden = decoder.hidden(tokens, this.#attend);
    this.#column++;
    return hidden;
  }

  drop(rows: readonly number[]): void {
    for (const row of rows) {
      this.#prompts[Math.floor(this.#placeOf[row]! / this.#places)]!.count--;
      const last = this.#placeOf.pop()!;
      if (row < this.#placeOf.length) this.#placeOf[row] = last;
    }
    if (rows.length === 0 || this.#placeOf.length === 0) return;
    const kept = this.#prompts.flatMap(({ count }, p) => (count > 0 ? [p] : []));
    const places = Math.max(...kept.map((p) => this.#prompts[p]!.count));
    if (kept.length * places <= SPARSE * this.#prompts.length * this.#places) this.#shrink(kept, places);
    this.#disposeOrder();
    const order = tidy(() => this.#orderOf());
    // They outlive the step.
    this.#order = order && { places_N: keep(order.places_N), rows_S: keep(order.rows_S) };
  }

  dispose(): void {
    for (const tensor of tensorsOf(this.#layers)) tensor.dispose();
    this.#mask?.dispose();
    this.#disposeOrder();
  }

  /** Moves what is left into tensors of their size. */
  #shrink(kept: readonly number[], places: number): void {
    const free = new Map(kept.map((p, i) => [p, i * places]));
    const from = new Array<number>(kept.length * places).fill(0);
    this.#placeOf = this.#placeOf.map((old) => {
      const p = Math.floor(old / this.#places);
      const place = free.get(p)!;
      free.set(p, place + 1);
      from[place] = old;
      return place;
    });
    const moved = tidy(() => {
      const [prompts_P, places_S] = [this.#index(kept), this.#index(from)];
      const own = (x: Tensor) =>
        x
          .flatten(0, 1)
          .indexSelect(0, places_S)
          .view([kept.length, places, ...x.shape.slice(2)]);
      return {
        layers: this.#layers.map((layer) => ({
          prompt: {
            k: layer.prompt.k.indexSelect(0, prompts_P),
            v: layer.prompt.v.indexSelect(0, prompts_P),
          },
          own: { k: own(layer.own.k), v: own(layer.own.v) },
        })),
        mask: this.#mask?.indexSelect(0, prompts_P),
      };
    });
    for (const tensor of tensorsOf(this.#layers)) tensor.dispose();
    this.#mask?.dispose();
    for (const tensor of tensorsOf(moved.layers)) keep(tensor);
    this.#layers = moved.layers;
    this.#mask = moved.mask && keep(moved.mask);
    this.#prompts = kept.map((p) => this.#prompts[p]!);
    this.#places = places;
  }

  #orderOf(): { places_N: Tensor; rows_S: Tensor } | undefined {
    const total = this.#prompts.length * this.#places;
    if (this.#placeOf.length === total && this.#placeOf.every((place, row) => place === row))
      return undefined;
    // A place without a row computes what row 0 computes.
    const rows = new Array<number>(total).fill(0);
    for (const [row, place] of this.#placeOf.entries()) rows[place] = row;
    return { places_N: this.#index(this.#placeOf), rows_S: this.#index(rows) };
  }

  #disposeOrder(): void {
    this.#order?.places_N.dispose();
    this.#order?.rows_S.dispose();
    this.#order = undefined;
  }

  #index(places: readonly number[]): Tensor {
    return tensor(places, undefined, { dtype: 'int64', device: this.#like.device });
  }
}

const tensorsOf = (layers: readonly Layer[]): Tensor[] =>
  layers.flatMap(({ prompt, own }) => [prompt.k, prompt.v, own.k, own.v]);

/** −∞ behind the last token of each prompt: `[prompts, 1, 1, longest]`. */
function maskOf(
  prompts: readonly SharedPrompt[],
  like: { dtype: DType; device: string },
): Tensor | undefined {
  const longest = Math.max(...prompts.map(({ length }) => length));
  if (prompts.every(({ length }) => length === longest)) return undefined;
  const mask = full([prompts.length, 1, 1, longest], 0, like);
  for (const [p, { length }] of prompts.entries())
    mask
      .select(0, p)
      .narrow(-1, length, longest - length)
      .fill_(Number.NEGATIVE_INFINITY);
  return mask;
}
