import { UserError } from '../errors/user-error.js';
import { type Decoder, loadAdapter, type Model, replaceWeights, weightsChecksum } from '../models/index.js';
import { Watch } from '../progress/watch.js';
import { sample } from '../rollout/index.js';
import type { Generated, GenerateRequest } from './generation.js';
import { scorePrompt } from './prompt-scores.js';
import { RequestAborted } from './request-aborted.js';

/** An adapter that requests can name. */
export interface LoadedAdapter {
  folder: string;
  rank: number;
  /** Of the model's weights and the adapter's. */
  checksum: number;
}

export interface EngineOptions {
  /** Name of the model, for errors. */
  name: string;
  /** Longest prompt and completion together, in tokens; the model's context when left out. */
  maxModelLen?: number | undefined;
  /** Bytes that decoding may take beside the weights that are loaded. */
  memoryBytes: number;
}

/** Answers requests for completions of one model and of adapters on it. The model is the caller's, and outlives it. */
export class ServeEngine implements Disposable {
  readonly maxModelLen: number;
  readonly #adapters = new Map<string, LoadedAdapter & { decoder: Decoder }>();
  #weightVersion = 'default';
  /** Ends when all work that was asked for is done. */
  #turn: Promise<unknown> = Promise.resolve();
  #running: AbortController | undefined;
  /** While paused: what waits for `resume`. */
  #paused: { until: Promise<void>; end(): void } | undefined;
  #load = { running: 0, waiting: 0, tokens: 0 };

  /** @throws UserError: a masked-diffusion model */
  constructor(
    readonly model: Model,
    private readonly options: EngineOptions,
  ) {
    const { config } = model.decoder;
    if (config.diffusion) {
      throw new UserError(`${options.name} is a masked-diffusion model: only causal models are served`, {
        hint: 'Sample it in a run of its own: rollout.engine=own',
      });
    }
    this.maxModelLen = Math.min(options.maxModelLen ?? config.maxPositions, config.maxPositions);
  }

  get adapters(): ReadonlyMap<string, LoadedAdapter> {
    return this.#adapters;
  }

  get weightVersion(): string {
    return this.#weightVersion;
  }

  /** Of the model's weights, as `Completion.weights`. */
  checksum(): number {
    return weightsChecksum(this.model.decoder);
  }

  get isPaused(): boolean {
    return this.#paused !== undefined;
  }

  /** Completions that grow, those that wait, and tokens drawn since the start. */
  get load(): { running: number; waiting: number; tokens: number } {
    return { ...this.#load };
  }

  /**
   * @throws UserError: a prompt that leaves no room, options that the model cannot follow, an adapter that is not loaded.
   * RequestAborted; the signal's reason
   */
  async generate(request: GenerateRequest): Promise<Generated> {
    const decoder = this.#decoderOf(request.adapter);
    const { prompt, count, options, seed, keys, signal } = request;
    const room = this.maxModelLen - prompt.length;
    if (prompt.length === 0) throw new UserError('the prompt has no tokens: there is nothing to continue');
    if (room < Math.min(1, options.maxNewTokens)) {
      throw new UserError(
        `the prompt has ${prompt.length} tokens, the longest sequence of ${this.options.name} has ${this.maxModelLen}: no room for a completion`,
        { hint: 'Shorten the prompt' },
      );
    }
    this.#load.waiting += count;
    return this.#next(async () => {
      while (this.#paused) await this.#paused.until;
      this.#load.waiting -= count;
      signal?.throwIfAborted();
      this.#load.running = count;
      const running = new AbortController();
      this.#running = running;
      try {
        const scores = request.scorePrompt && scorePrompt(decoder, prompt, options.temperature);
        const limited = {
          ...options,
          maxNewTokens: Math.min(options.maxNewTokens, room),
          lotBytes: this.options.memoryBytes,
        };
        const watch = new Watch({}, running.signal, () => running.signal.throwIfAborted());
        signal?.addEventListener('abort', () => running.abort(signal.reason), { once: true });
        const [completions] =
          options.maxNewTokens === 0
            ? [[]]
            : await sample({ ...this.model, decoder }, [{ ids: prompt, count, keys }], limited, seed, watch);
        for (const [index, { ids, logprobs, sampledLogprobs }] of completions!.entries())
          for (const [i, id] of ids.entries())
            request.onToken?.(index, { id, logprob: logprobs[i]!, sampledLogprob: sampledLogprobs[i]! });
        this.#load.tokens += completions!.reduce((sum, { ids }) => sum + ids.length, 0);
        return {
          completions: completions!,
          ...(scores && { promptLogprobs: scores }),
          weightVersion: this.#weightVersion,
        };
      } finally {
        this.#load.running = 0;
        this.#running = undefined;
      }
    });
  }

  /** @throws UserError: the name is taken, or the adapter does not fit. FileError, FormatError for its files */
  loadAdapter(name: string, folder: string): void {
    if (name === this.options.name || this.#adapters.has(name)) {
      throw new UserError(`a model or an adapter named '${name}' is loaded already`, {
        hint: 'Load each version of an adapter under a name of its own, and unload the old one',
      });
    }
    const { decoder: base } = this.model;
    const lora = loadAdapter(folder, base, this.options.name);
    const decoder = base.withLora(lora);
    const { rank } = lora.settings;
    this.#adapters.set(name, { folder, rank, checksum: weightsChecksum(decoder), decoder });
  }

  /** Requests for it that were accepted are still answered. @throws UserError: it is not loaded */
  unloadAdapter(name: string): void {
    const { lora } = this.#decoderOf(name);
    this.#adapters.delete(name);
    void this.#next(async () => lora!.dispose());
  }

  /**
   * Replaces the model's weights by those of a folder, once the requests before it are answered.
   *
   * @throws UserError, FileError, FormatError: the folder's weights do not fit; the old ones stay
   */
  updateWeights(folder: string, version: string): Promise<void> {
    return this.#next(async () => {
      replaceWeights(this.model.decoder, folder);
      this.#weightVersion = version;
    });
  }

  /** Answers no further request until `resume`. `abort` ends running ones, the others wait for their ends. */
  async pause(mode: 'abort' | 'wait' | 'keep'): Promise<void> {
    if (!this.#paused) {
      let end = () => {};
      const until = new Promise<void>((resolve) => {
        end = resolve;
      });
      this.#paused = { until, end };
    }
    if (mode === 'abort') this.#running?.abort(new RequestAborted('the server was paused'));
  }

  resume(): void {
    this.#paused?.end();
    this.#paused = undefined;
  }

  [Symbol.dispose](): void {
    this.#running?.abort(new RequestAborted('the server ended'));
    for (const { decoder } of this.#adapters.values()) decoder.lora!.dispose();
    this.#adapters.clear();
  }

  #decoderOf(adapter: string | undefined): Decoder {
    if (adapter === undefined) return this.model.decoder;
    const loaded = this.#adapters.get(adapter);
    if (loaded) return loaded.decoder;
    const names = [...this.#adapters.keys()];
    throw new UserError(`no adapter named '${adapter}' is loaded`, {
      hint: names.length > 0 ? `Loaded are ${names.join(', ')}` : 'None is loaded',
    });
  }

  /** Runs a body after those before it. */
  #next<T>(body: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(body);
    this.#turn = result.catch(() => {});
    return result;
  }
}
