import { arange, cat, type DType, keep, type Tensor, tensor, tidy, zeros } from '@grpo/torch';
import {
  capped,
  type DecoderConfig,
  type DecodingDecoder,
  type PackedTokens,
  type Scores,
  scoresOf,
  windowsOf,
} from '../models/index.js';
import type { DecodingCache, SharedPrompt } from './decoding-cache.js';
import { disposeLayer, type KvLayer, type KvShape, makeLayer, maskOf, shapeOf } from './kv-layer.js';
import { StaticStep } from './static-step.js';

/** A row: its place among all, and the columns that it has written. */
interface Row {
  place: number;
  length: number;
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
 * The rows of a prompt have places side by side. Places whose row has left are computed along, without effect. So a step
 * has the same shapes as the one before, until rows join, the cache shrinks or the columns that it reads are full: a device
 * can record it and replay it.
 */
export class KvCache implements DecodingCache {
  #shape: KvShape = { prompts: [], places: 0, longest: 0, newTokens: 0 };
  #layers: KvLayer[] = [];
  /** 0 where a prompt has a token, −∞ behind its last: float32 `[prompts, 1, 1, 1, longest]`. */
  #mask: Tensor | undefined;
  #rows: Row[] = [];
  /** The place of each row, and a row for each place; absent while rows and places are the same. */
  #order: { places_N: Tensor; rows_S: Tensor } | undefined;
  /** Columns that the attention reads. */
  #columns = 0;
  #step: StaticStep | undefined;
  /** The first of the prompts that joined last. */
  #joined = 0;

  constructor(
    private readonly config: DecoderConfig,
    private readonly like: { dtype: DType; device: string },
  ) {}

  join(prompts: readonly SharedPrompt[]): void {
    const there = this.#prompts();
    this.#joined = there.length;
    this.#move(there, shapeOf([...there, ...prompts]));
    const { places } = this.#shape;
    for (const [i, { count }] of prompts.entries())
      for (let place = 0; place < count; place++)
        this.#rows.push({ place: (this.#joined + i) * places + place, length: 0 });
    this.#setOrder();
  }

  storePrompt(layer: number, prompt: number, k_PKD: Tensor, v_PKD: Tensor): void {
    const { k, v } = this.#layers[layer]!.prompt;
    const place = this.#joined + prompt;
    k.select(0, place).narrow(1, 0, k_PKD.size(0)).copy_(k_PKD.transpose(0, 1));
    v.select(0, place).narrow(1, 0, v_PKD.size(0)).copy_(v_PKD.transpose(0, 1));
  }

  hidden(decoder: DecodingDecoder, { ids_N, positions_N }: PackedTokens): Tensor {
    const step = this.#step!;
    const lengths = this.#rows.map(({ length }) => length);
    const longest = Math.max(...lengths);
    if (longest >= this.#columns) {
      const wanted = Math.ceil(((longest + 1) * AHEAD) / BLOCK) * BLOCK;
      this.#columns = Math.min(wanted, this.#shape.newTokens);
      step.forget();
    }
    const order = this.#order;
    const ofPlaces = (x_N: Tensor) => (order ? x_N.indexSelect(0, order.rows_S) : x_N);
    step.tokens.ids_N.copy_(ofPlaces(ids_N));
    step.tokens.positions_N.copy_(ofPlaces(positions_N));
    step.columns_S.copy_(ofPlaces(this.#index(lengths)));
    for (const row of this.#rows) row.length++;
    const hidden_SD = step.run(decoder, () => this.#compute(decoder, step));
    return order ? hidden_SD.indexSelect(0, order.places_N) : hidden_SD;
  }

  /** A step of all places. */
  #compute(decoder: DecodingDecoder, { tokens, columns_S }: StaticStep): Tensor {
    const { prompts, places, longest, newTokens } = this.#shape;
    const [P, G, K, C] = [prompts.length, places, this.config.kvHeads, this.#columns];
    const { device } = this.like;
    const counting = (end: number) => arange(0, end, 1, { dtype: 'int64', device });
    const column_S1 = columns_S.unsqueeze(1);
    const position_S1 = tokens.positions_N.unsqueeze(1);
    const generated = zeros([P * G, C], { device }).maskedFill(
      counting(C).gt(column_S1),
      Number.NEGATIVE_INFINITY,
    );
    const prompt = this.#mask!.expand([P, G, 1, 1, longest]);
    /** −∞ also before a window, whose last key is that of the token itself. */
    const maskOf = (window: number) => {
      const within = (mask: Tensor, last_S1: Tensor) =>
        window === 0
          ? mask
          : mask.maskedFill(counting(mask.size(1)).le(last_S1.sub(window)), Number.NEGATIVE_INFINITY);
      const onPrompt = within(prompt.reshape([P * G, longest]), position_S1);
      return cat([onPrompt, within(generated, column_S1)], 1).view([P, G, 1, 1, longest + C]);
    };
    const most = longest + newTokens;
    const masks = new Map([...windowsOf(this.config, most)].map((window) => [window, maskOf(window)]));
    // Where the new token of each place and key head goes, among all columns of all.
    const written = counting(P * G * K)
      .view([P * G, K])
      .mul(newTokens)
      .add(column_S1)
      .flatten();
    return decoder.hidden(tokens, (layer, q, k, v) => {
      const scores = scoresOf(this.config, layer, most);
      return this.#attend(layer, [q, k, v], { ...scores, mask: masks.get(scores.window)!, written });
    });
  }

  /** Attention of one new token a place, whose keys and values are stored on the way. */
  #attend(
    layer: number,
    [q, k, v]: [Tensor, Tensor, Tensor],
    { mask, written, scale, softcap }: Scores & { mask: Tensor; written: Tensor },
  ): Tensor {
    const { kvHeads, heads, headDim } = this.config;
    const { prompts, places, longest } = this.#shape;
    const [P, G, K, R] = [prompts.length, places, kvHeads, heads / kvHeads];
    const { prompt, own } = this.#layers[layer]!;
    const seen = (cache: Tensor, values: Tensor) => {
      cache.view([-1, headDim]).indexCopy_(0, written, values.reshape([-1, headDim]));
      return cache.narrow(3, 0, this.#columns);
    };
    const keys = seen(own.k, k);
    const values = seen(own.v, v);
    // The query heads of a key head stand where queries of one sequence would, and with a prompt's those of all its rows.
    const query = q.view([P, G, K, R, headDim]);
    const together = (x: Tensor) => x.transpose(1, 2).reshape([P, K, G * R, -1]);
    const apart = (x: Tensor) => x.view([P, K, G, R, -1]).transpose(1, 2);
    const onPrompt = together(query).matmul(prompt.k.transpose(-2, -1));
    const products = cat([apart(onPrompt), query.matmul(keys.transpose(-2, -1))], -1);
    // In float32 at least: the mask's dtype.
    const scores =
      softcap > 0 ? mask.add(capped(products, { scale, softcap })) : mask.add(products, { alpha: scale });
    const weights = scores.softmax(-1).to(q.dtype);
    return apart(together(weights.narrow(-1, 0, longest)).matmul(prompt.v))
      .add(weights.narrow(-1, longest, this.#columns).matmul(values))
      .reshape([P * G, heads, headDim]);
  }

  drop(rows: readonly number[]): void {
    if (rows.length === 0) return;
    for (const row of rows) {
      const last = this.#rows.pop()!;
      if (row < this.#rows.length) this.#rows[row] = last;
    }
    if (this.#rows.length === 0) {
      this.dispose();
      return;
    }
    const { prompts, places, longest, newTokens } = this.#shape;
    const there = this.#prompts();
    const smaller = shapeOf(there);
    if (there.length * smaller.places <= SPARSE * prompts.length * places)
      this.#move(there, { ...smaller, longest, newTokens });
    this.#setOrder();
  }

  dispose(): void {
    // The recorded step goes first: it uses the tensors.
    this.#step?.dispose();
    this.#step = undefined;
    for (const layer of this.#layers) disposeLayer(layer);
    [this.#layers, this.#rows] = [[], []];
    this.#mask?.dispose();
    this.#mask = undefined;
    this.#disposeOrder();
    this.#columns = 0;
  }

  /** The prompts that have rows, with how many these are. */
  #prompts(): PlacedPrompt[] {
    const counts = new Map<number, number>();
    for (const { place } of this.#rows) {
      const at = Math.floor(place / this.#shape.places);
      counts.set(at, (counts.get(at) ?? 0) + 1);
    }
    return this.#shape.prompts.flatMap((prompt, at) => {
      const count = counts.get(at);
      return count === undefined ? [] : [{ ...prompt, count, at }];
    });
  }

  /** Moves these prompts and their rows to the first places of new tensors. */
  #move(there: readonly PlacedPrompt[], shape: KvShape): void {
    const { config, like } = this;
    const old = this.#shape;
    const free = new Map(there.map(({ at }, i) => [at, i * shape.places]));
    const from = this.#rows.map(({ place }) => place);
    for (const row of this.#rows) {
      const at = Math.floor(row.place / old.places);
      row.place = free.get(at)!;
      free.set(at, row.place + 1);
    }
    const to = this.#rows.map(({ place }) => place);
    const written = Math.max(0, ...this.#rows.map(({ length }) => length));
    // The recorded step goes first: it uses the tensors.
    this.#step?.dispose();
    this.#step = new StaticStep(shape.prompts.length * shape.places, like.device);
    const moves = { prompts: there.map(({ at }) => at), from, to, written };
    for (let layer = 0; layer < config.layers; layer++) {
      const before = this.#layers[layer];
      this.#layers[layer] = makeLayer(shape, config, like, before && { layer: before, ...moves });
      if (before) disposeLayer(before);
    }
    this.#mask?.dispose();
    this.#mask = tidy(() => keep(maskOf(shape, like.device)));
    this.#shape = shape;
    this.#columns = Math.min(this.#columns, shape.newTokens);
  }

  #setOrder(): void {
    this.#disposeOrder();
    const total = this.#shape.prompts.length * this.#shape.places;
    if (this.#rows.length === total && this.#rows.every(({ place }, row) => place === row)) return;
    // A place without a row repeats row 0.
    const rows = new Array<number>(total).fill(0);
    for (const [row, { place }] of this.#rows.entries()) rows[place] = row;
    // They outlive the step.
    this.#order = {
      places_N: keep(this.#index(this.#rows.map(({ place }) => place))),
      rows_S: keep(this.#index(rows)),
    };
  }

  #disposeOrder(): void {
    this.#order?.places_N.dispose();
    this.#order?.rows_S.dispose();
    this.#order = undefined;
  }

  #index(places: readonly number[]): Tensor {
    return tensor(places, undefined, { dtype: 'int64', device: this.like.device });
  }
}

/** A prompt with its place among all. */
interface PlacedPrompt extends SharedPrompt {
  at: number;
}
