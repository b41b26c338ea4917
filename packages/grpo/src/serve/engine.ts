import { UserError } from '../errors/user-error.js';
import { loadAdapter, type Model, replaceWeights } from '../models/index.js';
import { refuseImpossible } from '../rollout/index.js';
import type { Generated, GenerateRequest } from './generation.js';
import { Job } from './job.js';
import { RequestAborted } from './request-aborted.js';
import { Scheduler } from './scheduler.js';
import { ServedModel } from './served-model.js';

/** An adapter that requests can name. */
export interface LoadedAdapter {
  folder: string;
  rank: number;
  /** Of the model's weights and the adapter's, as `Completion.weights`. */
  checksum: number;
}

export interface EngineOptions {
  /** Name of the model. */
  name: string;
  /** Longest prompt and completion together, in tokens; the model's context when left out. */
  maxModelLen?: number | undefined;
  /** Bytes that decoding may take beside the weights and adapters that are loaded. */
  memoryBytes: number;
}

const ENDED = 'the server ended';

class ServedAdapter extends ServedModel implements LoadedAdapter {
  constructor(
    model: Model,
    readonly folder: string,
  ) {
    super(model);
  }

  get rank(): number {
    return this.decoder.lora!.settings.rank;
  }
}

/**
 * Answers requests for completions of one model and of adapters on it: all that grow at a time grow together, token by
 * token, whatever requests they are from. The model is the caller's and outlives the engine.
 */
export class ServeEngine implements Disposable {
  readonly maxModelLen: number;
  readonly #base: ServedModel;
  readonly #adapters = new Map<string, ServedAdapter>();
  /** Adapters that were unloaded while requests for them were not answered. */
  readonly #unloaded = new Set<ServedAdapter>();
  readonly #scheduler: Scheduler;
  #pause: 'abort' | 'wait' | 'keep' | undefined;
  /** Updates of the weights that are under way. */
  #updates = 0;
  #hasEnded = false;

  /** @throws UserError: a masked-diffusion model */
  constructor(
    readonly model: Model,
    private readonly options: EngineOptions,
  ) {
    const { config, engine } = model.decoder;
    if (config.diffusion) {
      throw new UserError(`${options.name} is a masked-diffusion model: only causal models are served`, {
        hint: 'Sample it in the process that trains it: rollout.engine=own',
      });
    }
    this.maxModelLen = Math.min(options.maxModelLen ?? config.maxPositions, config.maxPositions);
    this.#base = new ServedModel(model);
    this.#scheduler = new Scheduler(config, engine, options.memoryBytes);
  }

  get adapters(): ReadonlyMap<string, LoadedAdapter> {
    return this.#adapters;
  }

  get weightVersion(): string {
    return this.#scheduler.weightVersion;
  }

  /** Of the model's weights, as `Completion.weights`. */
  checksum(): number {
    return this.#base.checksum;
  }

  get isPaused(): boolean {
    return this.#pause !== undefined;
  }

  /** Completions that grow, those that wait, and tokens drawn since the start. */
  get load(): { running: number; waiting: number; tokens: number } {
    return this.#scheduler.load;
  }

  /**
   * @throws UserError: a prompt that leaves no room, options that the model cannot follow, an adapter that is not loaded,
   * more than the memory can ever hold, logits that are not finite. RequestAborted; the signal's reason
   */
  async generate(request: GenerateRequest): Promise<Generated> {
    this.#refuseWhenEnded();
    const served = request.adapter === undefined ? this.#base : this.#adapter(request.adapter);
    const { prompt, options, signal } = request;
    signal?.throwIfAborted();
    refuseImpossible(served.model, options);
    if (prompt.length === 0) throw new UserError('the prompt has no tokens: there is nothing to continue');
    const room = this.maxModelLen - prompt.length;
    const limit = Math.min(options.maxNewTokens, room);
    if (room < 0 || (room === 0 && options.maxNewTokens > 0)) {
      throw new UserError(
        `the prompt has ${prompt.length} tokens, the longest sequence of ${this.options.name} has ${this.maxModelLen}: no room for a completion`,
        { hint: 'Shorten the prompt' },
      );
    }
    const job = new Job(request, limit);
    this.#scheduler.add(job, served);
    served.requests++;
    try {
      return await job.answer;
    } finally {
      served.requests--;
      this.#freeUnloaded();
    }
  }

  /** @throws UserError: the name is taken, or the adapter does not fit. FileError, FormatError for its files */
  loadAdapter(name: string, folder: string): void {
    if (name === this.options.name || this.#adapters.has(name)) {
      throw new UserError(`a model or an adapter named '${name}' is loaded already`, {
        hint: 'Load each version of an adapter under a name of its own, and unload the old one',
      });
    }
    const { model } = this;
    const decoder = model.decoder.withLora(loadAdapter(folder, model.decoder, this.options.name));
    this.#adapters.set(name, new ServedAdapter({ ...model, decoder }, folder));
  }

  /** Requests for it that were accepted are still answered. @throws UserError: it is not loaded */
  unloadAdapter(name: string): void {
    this.#unloaded.add(this.#adapter(name));
    this.#adapters.delete(name);
    this.#freeUnloaded();
  }

  /**
   * Replaces the model's weights by those of a folder, between two tokens. Requests that wait are answered by the new
   * weights.
   *
   * @param running - what happens to requests that have begun: they are finished by the old weights first, or rejected
   * @throws UserError: the weights do not fit and the old ones stay, or requests are held by a pause. FileError, FormatError
   */
  async updateWeights(
    folder: string,
    version: string,
    running: 'finish' | 'abort' = 'finish',
  ): Promise<void> {
    if (running === 'abort') this.#scheduler.abort(new RequestAborted('the server takes new weights'));
    else if (this.#pause === 'keep' && this.load.running > 0) {
      throw new UserError(
        `${this.load.running} completions are held by a pause of mode keep: they cannot finish by the old weights`,
        { hint: 'Resume first, or abort what runs' },
      );
    }
    this.#updates++;
    this.#setStopped();
    try {
      await this.#scheduler.idle();
      this.#refuseWhenEnded();
      replaceWeights(this.model.decoder, folder);
      for (const served of [this.#base, ...this.#adapters.values(), ...this.#unloaded]) served.close();
      this.#scheduler.weightVersion = version;
    } finally {
      this.#updates--;
      this.#setStopped();
    }
  }

  /**
   * Begins no further request until `resume`. What runs is rejected with what waits (`abort`), finished before the pause
   * has begun (`wait`), or held until then (`keep`).
   */
  async pause(mode: 'abort' | 'wait' | 'keep'): Promise<void> {
    this.#pause = mode;
    this.#setStopped();
    if (mode === 'abort') this.#scheduler.abort(new RequestAborted('the server was paused'));
    if (mode !== 'keep') await this.#scheduler.idle();
  }

  resume(): void {
    this.#pause = undefined;
    this.#setStopped();
  }

  [Symbol.dispose](): void {
    this.#hasEnded = true;
    this.#scheduler.abort(new RequestAborted(ENDED));
    this.#scheduler.dispose();
    for (const { decoder } of [...this.#adapters.values(), ...this.#unloaded]) decoder.lora!.dispose();
    this.#adapters.clear();
    this.#unloaded.clear();
  }

  #setStopped(): void {
    const holds = this.#pause === 'keep' && this.#updates === 0;
    this.#scheduler.stopped = holds ? 'all' : this.#pause || this.#updates > 0 ? 'waiting' : 'nothing';
    this.#scheduler.wake();
  }

  /** Frees unloaded adapters that no request needs. */
  #freeUnloaded(): void {
    for (const adapter of this.#unloaded) {
      if (adapter.requests > 0) continue;
      adapter.close();
      adapter.decoder.lora!.dispose();
      this.#unloaded.delete(adapter);
    }
  }

  #refuseWhenEnded(): void {
    if (this.#hasEnded) throw new RequestAborted(ENDED);
  }

  #adapter(name: string): ServedAdapter {
    const adapter = this.#adapters.get(name);
    if (adapter) return adapter;
    const names = [...this.#adapters.keys()];
    throw new UserError(`no adapter named '${name}' is loaded`, {
      hint: names.length > 0 ? `Loaded are ${names.join(', ')}` : 'None is loaded',
    });
  }
}
