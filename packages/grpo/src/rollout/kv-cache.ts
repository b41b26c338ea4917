import { arange, cat, type DType, keep, type Tensor, tensor, tidy, zeros } from '@grpo/torch';
import type { DecoderConfig, DecodingDecoder, PackedTokens } from '../models/index.js';
import type { DecodingCache, SharedPrompt } from './decoding-cache.js';
import { StaticStep } from './static-step.js';

/** Keys and values of a layer. */
interface Layer {
  /** Tokens of the prompts: `[prompts, kvHeads, longest prompt, headDim]`. */
  prompt: { k: Tensor; v: Tensor };
  /** Generated tokens: `[prompts, places, kvHeads, columns, headDim]`. */
  own: { k: Tensor; v: Tensor };
}

/** Rows leave: once no more than this share of the places is taken, the cache moves into a smaller one. */
const SPARSE = 0.75;

/** The attention reads so many times the columns that are written, in whole blocks; a mask hides the rest. */
const AHEAD = 1.25;
const BLOCK = 64;

/**
 * The cache on devices and dtypes that have no operator of our own. It is written in place, and the queries of a
 * prompt's rows meet the prompt together.
 *
 * The rows of a prompt have places side by side; all write the same column at a step. Places whose row has left are
 * computed along, without effect. So a step has the same shapes as the one before, until the cache shrinks or the columns
 * that it reads are full: a device can record it and replay it.
 */
export class KvCache implements DecodingCache {
  readonly #config: DecoderConfig;
  readonly #like: { dtype: DType; device: string };
  #prompts: SharedPrompt[];
  /** Places a prompt. */
  #places: number;
  #layers: Layer[];
  /** 0 where a prompt has a token, −∞ behind its last: float32 `[prompts, 1, 1, 1, longest]`. */
  #mask: Tensor;
  /** Place of each row among all. */
  #placeOf: number[];
  /** The place of each row, and a row for each place; absent while rows and places are the same. */
  #order: { places_N: Tensor; rows_S: Tensor } | undefined;
  /** Columns written so far. */
  #column = 0;
  /** Columns that the attention reads. */
  #columns = 0;
  #step: StaticStep;

  /** @param newTokens - columns to leave room for */
  constructor(
    config: DecoderConfig,
    like: { dtype: DType; device: string },
    prompts: readonly SharedPrompt[],
    private readonly newTokens: number,
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
      mask: maskOf(prompts, like.device),
      order: this.#orderOf(),
    }));
    this.#step = new StaticStep(prompts.length * this.#places, like.device);
    this.#layers = made.layers;
    this.#mask = made.mask;
    this.#order = made.order;
  }

  storePrompt(layer: number, prompt: number, k_PKD: Tensor, v_PKD: Tensor): void {
    const { k, v } = this.#layers[layer]!.prompt;
    k.select(0, prompt).narrow(1, 0, k_PKD.size(0)).copy_(k_PKD.transpose(0, 1));
    v.select(0, prompt).narrow(1, 0, v_PKD.size(0)).copy_(v_PKD.transpose(0, 1));
  }

  hidden(decoder: DecodingDecoder, { ids_N, positions_N }: PackedTokens): Tensor {
    if (this.#column === this.#columns) {
      const wanted = Math.ceil(((this.#column + 1) * AHEAD) / BLOCK) * BLOCK;
      this.#columns = Math.min(wanted, this.newTokens);
      this.#step.forget();
    }
    const order = this.#order;
    const { tokens, column_1 } = this.#step;
    tokens.ids_N.copy_(order ? ids_N.indexSelect(0, order.rows_S) : ids_N);
    tokens.positions_N.copy_(order ? positions_N.indexSelect(0, order.rows_S) : positions_N);
    column_1.fill_(this.#column++);
    const hidden_SD = this.#step.run(decoder, () => this.#compute(decoder));
    return order ? hidden_SD.indexSelect(0, order.places_N) : hidden_SD;
  }

  /** A step of all places. */
  #compute(decoder: DecodingDecoder): Tensor {
    const { tokens, column_1 } = this.#step;
    const { device } = this.#like;
    const later = arange(0, this.#columns, 1, { dtype: 'int64', device }).gt(column_1);
    const shape = [this.#prompts.length, 1, 1, 1, this.#columns];
    const generatedMask = zeros(shape, { device }).maskedFill(later, Number.NEGATIVE_INFINITY);
    const mask = cat([this.#mask, generatedMask], -1);
    return decoder.hidden(tokens, (layer, q, k, v) => this.#attend(layer, q, k, v, mask));
  }

  /** Attention of one new token a place, whose keys and values are stored on the way. */
  #attend(layer: number, q: Tensor, k: Tensor, v: Tensor, mask: Tensor): Tensor {
    const { kvHeads, heads, headDim } = this.#config;
    const [P, G, K, R] = [this.#prompts.length, this.#places, kvHeads, heads / kvHeads];
    const { prompt, own } = this.#layers[layer]!;
    const seen = (cache: Tensor, values: Tensor) =>
      cache
        .indexCopy_(3, this.#step.column_1, values.reshape([P, G, K, 1, headDim]))
        .narrow(3, 0, this.#columns);
    const keys = seen(own.k, k);
    const values = seen(own.v, v);
    // The query heads of a key head stand where queries of one sequence would, and with a prompt's those of all its rows.
    const query = q.view([P, G, K, R, headDim]);
    const together = (x: Tensor) => x.transpose(1, 2).reshape([P, K, G * R, -1]);
    const apart = (x: Tensor) => x.view([P, K, G, R, -1]).transpose(1, 2);
    const onPrompt = together(query).matmul(prompt.k.transpose(-2, -1));
    const scores = cat([apart(onPrompt), query.matmul(keys.transpose(-2, -1))], -1);
    // In float32 at least: the mask's dtype.
    const weights = mask
      .add(scores, { alpha: 1 / Math.sqrt(headDim) })
      .softmax(-1)
      .to(q.dtype);
    const longest = prompt.k.size(2);
    return apart(together(weights.narrow(-1, 0, longest)).matmul(prompt.v))
      .add(weights.narrow(-1, longest, this.#columns).matmul(values))
      .reshape([P * G, heads, headDim]);
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
    // The recorded step goes first: it uses the tensors.
    this.#step.dispose();
    for (const tensor of tensorsOf(this.#layers)) tensor.dispose();
    this.#mask.dispose();
    this.#disposeOrder();
  }

  /** Moves the remaining prompts and places into smaller tensors. */
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
      const gather = (x: Tensor) =>
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
          own: { k: gather(layer.own.k), v: gather(layer.own.v) },
        })),
        mask: this.#mask.indexSelect(0, prompts_P),
      };
    });
    this.#step.dispose();
    for (const tensor of tensorsOf(this.#layers)) tensor.dispose();
    this.#mask.dispose();
    for (const tensor of tensorsOf(moved.layers)) keep(tensor);
    this.#layers = moved.layers;
    this.#mask = keep(moved.mask);
    this.#step = new StaticStep(kept.length * places, this.#like.device);
    this.#prompts = kept.map((p) => this.#prompts[p]!);
    this.#places = places;
  }

  #orderOf(): { places_N: Tensor; rows_S: Tensor } | undefined {
    const total = this.#prompts.length * this.#places;
    if (this.#placeOf.length === total && this.#placeOf.every((place, row) => place === row))
      return undefined;
    // A place without a row repeats row 0.
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

/** −∞ behind the last token of each prompt: float32 `[prompts, 1, 1, 1, longest]`. */
function maskOf(prompts: readonly SharedPrompt[], device: string): Tensor {
  const longest = Math.max(...prompts.map(({ length }) => length));
  const mask = zeros([prompts.length, 1, 1, 1, longest], { device });
  for (const [p, { length }] of prompts.entries())
    mask
      .select(0, p)
      .narrow(-1, length, longest - length)
      .fill_(Number.NEGATIVE_INFINITY);
  return mask;
}
