import { cat, keep, noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { uniform } from '../maths/random.js';
import { prefillParts } from '../memory/decoding.js';
import {
  type Attend,
  type Decoder,
  DecodingDecoder,
  type Model,
  packSegments,
  weightsChecksum,
} from '../models/index.js';
import type { Watch } from '../progress/watch.js';
import type { Completion, FinishReason, SamplingOptions } from './completion.js';
import { type CompletionRequest, failOnLogits } from './completion-requests.js';
import type { DecodingCache } from './decoding-cache.js';
import { draw } from './distribution.js';
import { FusedCache } from './fused-cache.js';
import { KvCache } from './kv-cache.js';
import { hasPenalties, penalize } from './penalties.js';
import type { SamplingLot } from './sampling-lot.js';
import { endingOf } from './stop.js';

/** A completion in the making; its place in the cache is its place among the active ones. */
interface Row extends CompletionRequest {
  ids: number[];
  logprobs: number[];
  sampledLogprobs: number[];
}

/** A lot of completions of a causal model, from their prompts to their ends: one more token of each at a time. */
export class Decoding implements SamplingLot {
  readonly finished: { row: Row; completion: Completion }[] = [];
  tokens = 0;
  readonly #rows: Row[];
  readonly #cache: DecodingCache;
  /** End tokens, while a completion may not end yet: bool `[V]`. */
  #forbidden: Tensor | undefined;
  /** The decoder laid out for decoding, from its first use on. */
  #decoder: DecodingDecoder | undefined;
  /** Checksum of the model's weights, where none are laid out for decoding. */
  #checksum: number | undefined;
  readonly #ends: (ids: readonly number[]) => boolean;

  constructor(
    private readonly model: Model,
    rows: readonly CompletionRequest[],
    private readonly options: SamplingOptions,
    private readonly seed: number,
  ) {
    const { decoder } = model;
    const { config, dtype, device } = decoder;
    const newTokens = Math.max(...rows.map((row) => row.limit));
    this.#rows = rows.map((row) => ({ ...row, ids: [], logprobs: [], sampledLogprobs: [] }));
    this.#ends = endingOf(model, options);
    const shared = this.#prompts().map(({ prompt, count }) => ({ length: prompt.length, count }));
    this.#cache = decoder.fuses
      ? new FusedCache(decoder, shared, newTokens)
      : new KvCache(config, { dtype, device }, shared, newTokens);
  }

  get active(): number {
    return this.#rows.length;
  }

  /** A row that ends before its limit takes less. */
  get share(): number {
    return this.#rows.reduce((sum, { ids, limit }) => sum + ids.length / limit, this.finished.length);
  }

  /** The first time computes the prompts. */
  advance(watch: Watch): void {
    if (this.tokens === 0) this.#prefill(watch);
    else this.#step();
  }

  /** Computes each distinct prompt once and draws every row's first token. */
  #prefill(watch: Watch): void {
    noGrad(() =>
      tidy(() => {
        const decoder = this.options.invariant ? this.#laidOut() : this.model.decoder;
        const shared = this.#prompts();
        const lengths = shared.map(({ prompt }) => prompt.length);
        const parts = prefillParts(decoder.config, this.model.decoder.engine, lengths, this.options.lotBytes);
        const prompts = shared.map(({ prompt }) => prompt);
        const all = lengths.reduce((sum, length) => sum + length, 0);
        let before = 0;
        const lasts = parts.map(({ from, to }) => {
          const tokens = lengths.slice(from, to).reduce((sum, length) => sum + length, 0);
          const report = (share: number) =>
            watch.report({
              stage: 'rollout',
              done: before + share * tokens,
              total: all,
              unit: 'prompt tokens',
            });
          const last = tidy(() => this.#prefillPart(decoder, prompts.slice(from, to), from, report));
          before += tokens;
          return last;
        });
        const logits = decoder.logits(cat(lasts));
        const promptOfRow = shared.flatMap(({ count }, i) => Array<number>(count).fill(i));
        this.#draw(logits.indexSelect(0, this.#index(promptOfRow)));
      }),
    );
  }

  /** Computes some of the prompts, the first of which is the `first` of all: hidden states of their last tokens. */
  #prefillPart(
    decoder: Decoder | DecodingDecoder,
    prompts: readonly (readonly number[])[],
    first: number,
    report: (share: number) => void,
  ): Tensor {
    const packed = packSegments(
      prompts.map((ids) => ({ ids })),
      decoder.config,
      decoder.device,
    );
    const attend: Attend = (layer, q, k, v) => {
      for (const [i, { length }] of prompts.entries()) {
        const own = (x: Tensor) => x.narrow(0, packed.starts[i]!, length);
        this.#cache.storePrompt(layer, first + i, own(k), own(v));
      }
      report(layer / decoder.config.layers);
      return packed.attend(layer, q, k, v);
    };
    const lasts = prompts.map(({ length }, i) => packed.starts[i]! + length - 1);
    return decoder.hidden(packed, attend).indexSelect(0, this.#index(lasts));
  }

  #index(places: number[]): Tensor {
    return tensor(places, undefined, { dtype: 'int64', device: this.model.decoder.device });
  }

  /** Draws one more token for every active row. */
  #step(): void {
    noGrad(() =>
      tidy(() => {
        const decoder = this.#laidOut();
        const on = { dtype: 'int64', device: decoder.device } as const;
        const positions = this.#rows.map((row) => row.prompt.length + row.ids.length - 1);
        const tokens = {
          ids_N: tensor(
            this.#rows.map((row) => row.ids.at(-1)!),
            undefined,
            on,
          ),
          positions_N: tensor(positions, undefined, on),
        };
        this.#draw(decoder.logits(this.#cache.hidden(decoder, tokens)));
      }),
    );
  }

  dispose(): void {
    this.#decoder?.[Symbol.dispose]();
    this.#forbidden?.dispose();
    this.#cache.dispose();
  }

  #laidOut(): DecodingDecoder {
    this.#decoder ??= new DecodingDecoder(this.model.decoder);
    return this.#decoder;
  }

  /** Neighbouring rows of one prompt, which share its computation. */
  #prompts(): { prompt: readonly number[]; count: number }[] {
    const shared: { prompt: readonly number[]; count: number }[] = [];
    for (const { prompt } of this.#rows) {
      const last = shared.at(-1);
      if (last?.prompt === prompt) last.count++;
      else shared.push({ prompt, count: 1 });
    }
    return shared;
  }

  #draw(logits: Tensor): void {
    const { options, seed } = this;
    const uniforms =
      options.temperature === 0
        ? []
        : this.#rows.map((row) => uniform(seed, ...row.keys, row.index, row.ids.length));
    this.tokens += this.#rows.length;
    const generated = this.#rows.map((row) => row.ids);
    const adjusted = hasPenalties(options) ? penalize(logits, generated, options) : logits;
    // Rows of a lot begin together, so all hold the same number of tokens.
    const forbidden = generated[0]!.length < options.minNewTokens ? this.#endTokens(logits) : undefined;
    const { tokens, logprobs, sampledLogprobs } = draw(logits, adjusted, uniforms, options, forbidden);
    for (const [i, row] of this.#rows.entries()) {
      if (!Number.isFinite(logprobs[i]) || !Number.isFinite(sampledLogprobs[i]))
        failOnLogits(row, row.ids.length + 1);
      row.ids.push(tokens[i]!);
      row.logprobs.push(logprobs[i]!);
      row.sampledLogprobs.push(sampledLogprobs[i]!);
    }
    // From the last row on: a row that moves into a freed place has been checked already.
    const ended: number[] = [];
    for (let i = this.#rows.length - 1; i >= 0; i--) {
      const reason = this.#ending(this.#rows[i]!);
      if (!reason) continue;
      this.#finish(i, reason);
      ended.push(i);
    }
    this.#cache.drop(ended);
  }

  #endTokens(logits: Tensor): Tensor {
    if (!this.#forbidden) {
      const ends = new Uint8Array(logits.size(-1));
      for (const id of this.model.endIds) ends[id] = 1;
      this.#forbidden = keep(tensor(ends, undefined, { dtype: 'bool', device: logits.device }));
    }
    return this.#forbidden;
  }

  #ending(row: Row): FinishReason | undefined {
    if (this.#ends(row.ids)) return 'stop';
    return row.ids.length >= row.limit ? 'length' : undefined;
  }

  /** Checksum of the weights that sample: those laid out, or the model's while only prompts are computed. */
  get #weights(): number {
    if (this.#decoder) return this.#decoder.checksum;
    this.#checksum ??= weightsChecksum(this.model.decoder);
    return this.#checksum;
  }

  #finish(place: number, finishReason: FinishReason): void {
    const { tokenizer, endIds } = this.model;
    const row = this.#rows[place]!;
    const completion: Completion = {
      ids: row.ids,
      text: tokenizer.decodeCompletion(row.ids, { endIds }),
      finishReason,
      logprobs: Float32Array.from(row.logprobs),
      sampledLogprobs: Float32Array.from(row.sampledLogprobs),
      weights: this.#weights,
    };
    this.finished.push({ row, completion });
    const last = this.#rows.pop()!;
    if (place < this.#rows.length) this.#rows[place] = last;
  }
}
