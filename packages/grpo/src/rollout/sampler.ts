import { cat, keep, noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { UserError } from '../errors/user-error.js';
import { uniform } from '../maths/random.js';
import { prefillParts, rowsWithin } from '../memory/decoding.js';
import {
  type Attend,
  type Decoder,
  DecodingDecoder,
  type Model,
  packSegments,
  weightsChecksum,
} from '../models/index.js';
import { Watch } from '../progress/watch.js';
import type { Completion, FinishReason, SamplingOptions } from './completion.js';
import type { DecodingCache } from './decoding-cache.js';
import { draw, truncates } from './distribution.js';
import { FusedCache } from './fused-cache.js';
import { KvCache } from './kv-cache.js';
import { hasPenalties, penalize } from './penalties.js';
import { StopStrings } from './stop.js';
import { withinMemory } from './within-memory.js';

/** A prompt and the number of its completions. */
export interface GroupRequest {
  /** The rendered prompt. */
  ids: readonly number[];
  count: number;
  /** Names the group's random streams, such as [step, prompt]: with the seed they fix every draw. */
  keys: readonly number[];
  /** Longest of each completion, in tokens, where they are not all `maxNewTokens`. */
  limits?: readonly number[];
}

/** A request for one completion. */
interface CompletionRequest {
  group: number;
  index: number;
  prompt: readonly number[];
  keys: readonly number[];
  /** In tokens; at least 1. */
  limit: number;
}

/** A completion in the making; its place in the cache is its place among the active ones. */
interface Row extends CompletionRequest {
  ids: number[];
  logprobs: number[];
  sampledLogprobs: number[];
}

/**
 * Samples completions, one group per request. A group's prompt is computed once; a finished completion leaves the batch
 * at once. Each completion draws from a stream of its own, a function of seed, keys and its index in the group: given
 * equal logits it does not depend on the other completions.
 *
 * @throws UserError for an empty prompt, one that leaves no room in the model's context, and logits that are not finite;
 * Abandoned
 */
export async function sample(
  model: Model,
  requests: readonly GroupRequest[],
  options: SamplingOptions,
  seed: number,
  watch = new Watch(),
): Promise<Completion[][]> {
  const { fuses, dtype, device } = model.decoder;
  if (options.invariant && !fuses) {
    throw new UserError(
      `rollout.invariant needs float32 or bfloat16 on the CPU; the model is ${dtype} on ${device}`,
      { hint: 'set rollout.invariant=false, or device=cpu with one of these dtypes' },
    );
  }
  const groups: Completion[][] = requests.map(() => []);
  const rowRequests = splitRequests(model, requests, options);
  const { decoder } = model;
  const bound = { unit: 'completions', setting: 'memory', configured: rowRequests.length, model: decoder };
  const { lotBytes } = options;
  const adjusted = hasPenalties(options) || truncates(options);
  const take = (from: number, most: number) => {
    const count = rowsWithin(decoder.config, decoder.engine, rowRequests.slice(from), {
      lotBytes,
      adjusted,
      most,
    });
    return { rows: rowRequests.slice(from, from + count), count, size: count };
  };
  let done = 0;
  let tokens = 0;
  const total = rowRequests.length;
  await withinMemory(bound, total, take, async ({ rows }) => {
    const decoding = new Decoding(model, rows, options, seed);
    const report = () =>
      watch.report({
        stage: 'rollout',
        done: done + decoding.finished.length,
        total,
        unit: 'completions',
        tokens: tokens + decoding.tokens,
        share: (done + decoding.share) / total,
      });
    try {
      decoding.prefill(watch);
      report();
      for (let yielded = Date.now(); decoding.active > 0; ) {
        decoding.step();
        report();
        // About ten times per second.
        if (Date.now() - yielded > 100) {
          await watch.breathe();
          yielded = Date.now();
        }
      }
    } finally {
      decoding.dispose();
    }
    done += rows.length;
    tokens += decoding.tokens;
    for (const { row, completion } of decoding.finished) groups[row.group]![row.index] = completion;
  });
  return groups;
}

function failOn({ group, index, ids }: Row): never {
  throw new UserError(
    `prompt ${group + 1}, completion ${index + 1}, token ${ids.length + 1}: the logits hold NaN or infinity, or every token is forbidden: no token can be drawn`,
    {
      hint: 'the weights have diverged or overflow their dtype; look at the losses and gradient norms of earlier steps',
    },
  );
}

/** Requests for all completions, those of a prompt side by side. */
function splitRequests(
  model: Model,
  requests: readonly GroupRequest[],
  { maxNewTokens }: SamplingOptions,
): CompletionRequest[] {
  const { maxPositions } = model.decoder.config;
  return requests.flatMap(({ ids, count, keys, limits }, group) => {
    if (ids.length === 0) {
      throw new UserError(`prompt ${group + 1} has no tokens: there is nothing to continue`, {
        hint: 'leave out empty prompts, or begin them with the BOS token',
      });
    }
    if (ids.length >= maxPositions) {
      throw new UserError(
        `prompt ${group + 1} has ${ids.length} tokens, the model's context holds ${maxPositions}: no room for a completion`,
        { hint: 'shorten or leave out the longest prompts' },
      );
    }
    const room = maxPositions - ids.length;
    return Array.from({ length: count }, (_, index) => {
      const limit = Math.min(limits?.[index] ?? maxNewTokens, room);
      return { group, index, prompt: ids, keys, limit };
    });
  });
}

/** One lot of rows, from their prompts to their ends. */
class Decoding {
  readonly finished: { row: Row; completion: Completion }[] = [];
  /** Tokens drawn so far. */
  tokens = 0;
  readonly #rows: Row[];
  readonly #cache: DecodingCache;
  /** End tokens, while a completion may not end yet: bool `[V]`. */
  #forbidden: Tensor | undefined;
  /** The decoder laid out for decoding, from its first use on. */
  #decoder: DecodingDecoder | undefined;
  /** Checksum of the model's weights, where none are laid out for decoding. */
  #checksum: number | undefined;
  readonly #stop: StopStrings;

  constructor(
    private readonly model: Model,
    rows: readonly CompletionRequest[],
    private readonly options: SamplingOptions,
    private readonly seed: number,
  ) {
    const { decoder, tokenizer } = model;
    const { config, dtype, device } = decoder;
    const newTokens = Math.max(...rows.map((row) => row.limit));
    this.#rows = rows.map((row) => ({ ...row, ids: [], logprobs: [], sampledLogprobs: [] }));
    this.#stop = new StopStrings(options.stop, tokenizer);
    const shared = this.#prompts().map(({ prompt, count }) => ({ length: prompt.length, count }));
    this.#cache = decoder.fuses
      ? new FusedCache(decoder, shared, newTokens)
      : new KvCache(config, { dtype, device }, shared, newTokens);
  }

  get active(): number {
    return this.#rows.length;
  }

  /** How many rows' work is done at least: a row that ends before its limit takes less. */
  get share(): number {
    return this.#rows.reduce((sum, { ids, limit }) => sum + ids.length / limit, this.finished.length);
  }

  /** Computes each distinct prompt once and draws every row's first token. */
  prefill(watch: Watch): void {
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
  step(): void {
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
      if (!Number.isFinite(logprobs[i]) || !Number.isFinite(sampledLogprobs[i])) failOn(row);
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
    const { options, model } = this;
    const length = row.ids.length;
    if (length >= options.minNewTokens && (model.endIds.has(row.ids.at(-1)!) || this.#stop.endsAt(row.ids)))
      return 'stop';
    return length >= row.limit ? 'length' : undefined;
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
