import { keep, noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { TokenSets } from '../formats/token-sets.js';
import { DecodingDecoder, type Model } from '../models/index.js';
import type { Watch } from '../progress/watch.js';
import type { Completion, FinishReason } from './completion.js';
import type { CompletionRequest } from './completion-requests.js';
import type { DecodingCache, SharedPrompt } from './decoding-cache.js';
import { type DecodingRow, rowOf } from './decoding-row.js';
import { drawRows } from './draw-rows.js';
import { FusedCache } from './fused-cache.js';
import { KvCache } from './kv-cache.js';
import { prefill } from './prefill.js';
import type { SamplingLot } from './sampling-lot.js';

/**
 * Completions of a causal model, from their prompts to their ends: one more token of each at a time. Others may join
 * them between two tokens, and each leaves at its end.
 */
export class Decoding implements SamplingLot {
  readonly finished: { row: DecodingRow; completion: Completion }[] = [];
  tokens = 0;
  /** Those whose prompts are still to be computed. */
  #joining: DecodingRow[] = [];
  #rows: DecodingRow[] = [];
  readonly #cache: DecodingCache;
  /** The tokens that end a completion: bool `[V]`. */
  #endTokens: Tensor | undefined;
  /** The decoder laid out for decoding, from its first use on. */
  #decoder: DecodingDecoder | undefined;

  /** @param lotBytes - bounds what prompts are computed together */
  constructor(
    private readonly model: Model,
    private readonly lotBytes: number,
  ) {
    const { decoder } = model;
    const { config, dtype, device } = decoder;
    this.#cache = decoder.fuses ? new FusedCache(decoder) : new KvCache(config, { dtype, device });
  }

  get active(): number {
    return this.#joining.length + this.#rows.length;
  }

  /** A row that ends before its limit takes less. */
  get share(): number {
    return this.#rows.reduce((sum, { ids, limit }) => sum + ids.length / limit, this.finished.length);
  }

  /** @returns the rows of these requests, which begin with the next `advance`; neighbours of one prompt share it */
  join(requests: readonly CompletionRequest[]): DecodingRow[] {
    const rows = requests.map((request) => rowOf(request, this.model));
    this.#joining.push(...rows);
    return rows;
  }

  /** Takes rows out, unfinished. */
  drop(leaving: ReadonlySet<DecodingRow>): void {
    this.#joining = this.#joining.filter((row) => !leaving.has(row));
    const places = [...this.#rows.keys()].reverse().filter((place) => leaving.has(this.#rows[place]!));
    for (const place of places) this.#take(place);
    this.#cache.drop(places);
  }

  /** Computes the prompts of rows that joined and draws their first tokens, or one more token of all others. */
  advance(watch: Watch): void {
    noGrad(() => tidy(() => (this.#joining.length > 0 ? this.#prefill(watch) : this.#step())));
  }

  dispose(): void {
    this.#decoder?.[Symbol.dispose]();
    this.#endTokens?.dispose();
    this.#cache.dispose();
  }

  #prefill(watch: Watch): void {
    const rows = this.#joining.splice(0);
    const shared = sharedPrompts(rows);
    this.#cache.join(shared);
    const first = this.#rows.length;
    this.#rows.push(...rows);
    const { lotBytes, model } = this;
    const logits = prefill(
      this.#laidOut(),
      this.#cache,
      shared.map(({ prompt }) => prompt),
      { engine: model.decoder.engine, lotBytes },
      watch,
    );
    const promptOfRow = shared.flatMap(({ count }, i) => Array<number>(count).fill(i));
    this.#draw(logits.indexSelect(0, this.#int64(promptOfRow)), first);
  }

  #step(): void {
    const decoder = this.#laidOut();
    const tokens = {
      ids_N: this.#int64(this.#rows.map(({ ids }) => ids.at(-1)!)),
      positions_N: this.#int64(this.#rows.map(({ prompt, ids }) => prompt.length + ids.length - 1)),
    };
    this.#draw(decoder.logits(this.#cache.hidden(decoder, tokens)), 0);
  }

  #int64(numbers: number[]): Tensor {
    return tensor(numbers, undefined, { dtype: 'int64', device: this.model.decoder.device });
  }

  #laidOut(): DecodingDecoder {
    this.#decoder ??= new DecodingDecoder(this.model.decoder);
    return this.#decoder;
  }

  /** Draws one more token for the rows from the `first` on, and lets those go that end with it. */
  #draw(logits: Tensor, first: number): void {
    drawRows(logits, this.#rows.slice(first), () => this.#maskOfEnds());
    this.tokens += this.#rows.length - first;
    // From the last row on: a row that moves into a freed place has been checked already.
    const ended: number[] = [];
    for (let place = this.#rows.length - 1; place >= first; place--) {
      const row = this.#rows[place]!;
      const reason = endOf(row);
      if (!reason) continue;
      this.finished.push({ row, completion: this.#completionOf(row, reason) });
      this.#take(place);
      ended.push(place);
    }
    this.#cache.drop(ended);
  }

  /** The last row takes the place of the one that leaves. */
  #take(place: number): void {
    const last = this.#rows.pop()!;
    if (place < this.#rows.length) this.#rows[place] = last;
  }

  #maskOfEnds(): Tensor {
    if (!this.#endTokens) {
      const { decoder, endIds } = this.model;
      const ends = new Uint8Array(decoder.config.vocabSize);
      for (const id of endIds) ends[id] = 1;
      this.#endTokens = keep(tensor(ends, undefined, { dtype: 'bool', device: decoder.device }));
    }
    return this.#endTokens;
  }

  #completionOf(row: DecodingRow, finishReason: FinishReason): Completion {
    const { tokenizer, endIds } = this.model;
    return {
      ids: row.ids,
      text: tokenizer.decodeCompletion(row.ids, { endIds }),
      finishReason,
      logprobs: Float32Array.from(row.logprobs),
      sampledLogprobs: Float32Array.from(row.sampledLogprobs),
      ...(row.support.length > 0 && { support: supportOf(row) }),
      weights: this.#laidOut().checksum,
    };
  }
}

function endOf(row: DecodingRow): FinishReason | undefined {
  if (row.ends(row.ids)) return 'stop';
  return row.ids.length >= row.limit ? 'length' : undefined;
}

const supportOf = ({ support }: DecodingRow): TokenSets =>
  TokenSets.fromBytes(
    support.map(({ length }) => length),
    Buffer.concat(support),
  );

/** The prompts of rows; neighbouring rows share one. */
function sharedPrompts(rows: readonly DecodingRow[]): (SharedPrompt & { prompt: readonly number[] })[] {
  const shared: (SharedPrompt & { prompt: readonly number[] })[] = [];
  for (const { prompt, limit } of rows) {
    const last = shared.at(-1);
    if (last?.prompt === prompt) {
      last.count++;
      last.newTokens = Math.max(last.newTokens, limit);
    } else shared.push({ prompt, length: prompt.length, count: 1, newTokens: limit });
  }
  return shared;
}
