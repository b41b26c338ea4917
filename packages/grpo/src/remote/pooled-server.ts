import type { Dialect, RemoteCompletion, RemoteRequest, ServerAccess, ServerFacts } from './dialect.js';
import type { JsonServer } from './json-server.js';
import type { PublishedWeights } from './published-weights.js';
import { NoAnswer, Refusal, WrongAnswer } from './server-error.js';

/** Requests that a server works on at a time; it puts their completions into batches of its own. */
const LANES = 64;

/** Seconds until a server is asked again after it failed. Each pause is twice the one before, up to so many times. */
const PAUSE = 0.5;
const MOST_PAUSES = 64;

/** Seconds without an answer of any server until a step is given up: long enough to start one again. */
export const PATIENCE = 300;

/** How servers are asked. */
export interface ServerOptions {
  note?(text: string): void;
  /** After the first failure. */
  pauseSeconds?: number;
  /** For all servers together, without an answer. */
  patienceSeconds?: number;
  /** Called whenever a server has got weights, before it samples by them; what it throws ends the run's step. */
  inspect?(access: ServerAccess): Promise<void>;
}

/** One of the servers: whether it answers, what it works on, and which weights it has. */
export class PooledServer {
  /** Completions that it is sampling. */
  load = 0;
  /** When it last answered well. */
  answeredAt = Number.NEGATIVE_INFINITY;
  #requests = 0;
  /** Failures in a row, the last of them, and when the next attempt may be made. */
  #failures = 0;
  #failure = '';
  #failedAt = Number.NEGATIVE_INFINITY;
  #nextAt = 0;
  /** Its facts and the weights that it was last seen with; undefined where that must be looked at again. */
  #ready: { facts: ServerFacts; weights: PublishedWeights } | undefined;
  #preparing: Promise<ServerFacts> | undefined;

  constructor(
    readonly server: JsonServer,
    private readonly dialect: Dialect,
    private readonly options: ServerOptions,
  ) {}

  get name(): string {
    return this.server.name;
  }

  /** Its name and software. */
  describe(): string {
    return this.#ready ? `${this.name} (${this.#ready.facts.software})` : this.name;
  }

  /** The last failure in words, where it has not answered since. */
  get failure(): string | undefined {
    return this.#failures > 0 ? `${this.name}: ${this.#failure}` : undefined;
  }

  /** Whether it may be asked now. One that has failed is asked one thing first. */
  get isFree(): boolean {
    if (performance.now() < this.#nextAt) return false;
    return this.#requests < (this.#failures > 0 ? 1 : LANES);
  }

  /** Whether a request is under way. */
  get isBusy(): boolean {
    return this.#requests > 0;
  }

  /**
   * Sees to it that the server has the weights.
   *
   * @throws NoAnswer, Refusal, WrongAnswer; the signal's reason
   */
  async prepare(weights: PublishedWeights, signal: AbortSignal): Promise<ServerFacts> {
    if (this.#ready?.weights === weights) return this.#ready.facts;
    this.#preparing ??= this.#prepare(weights, signal).finally(() => {
      this.#preparing = undefined;
    });
    return await this.#preparing;
  }

  async #prepare(weights: PublishedWeights, signal: AbortSignal): Promise<ServerFacts> {
    const { server, dialect } = this;
    const started = performance.now();
    try {
      let facts = await dialect.facts(server, signal);
      if (!holds(facts, weights)) {
        await weights.lend((pushed) => dialect.push(server, facts, pushed, signal));
        facts = await dialect.facts(server, signal);
      }
      await this.options.inspect?.({ server, dialect, facts, weights, signal });
      this.#ready = { facts, weights };
      return facts;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      this.#failed(error, started);
      // That it cannot be made ready is no fault of a request for completions.
      throw new NoAnswer(error.message, false, error.retryAfterSeconds);
    }
  }

  /**
   * Completions by the weights, which it gets first where it has others.
   *
   * @throws NoAnswer, Refusal, WrongAnswer; the signal's reason
   */
  async generate(
    request: Omit<RemoteRequest, 'adapter'>,
    weights: PublishedWeights,
    signal: AbortSignal,
  ): Promise<RemoteCompletion[]> {
    const started = performance.now();
    this.load += request.count;
    this.#requests++;
    try {
      const facts = await this.prepare(weights, signal);
      const adapter = weights.kind === 'adapter' ? weights.name : undefined;
      const completions = await this.dialect.generate(this.server, facts, { ...request, adapter, signal });
      this.#requireWeights(completions, facts, weights);
      this.#answered();
      return completions;
    } catch (error) {
      if (error instanceof NoAnswer || error instanceof Refusal) this.#failed(error, started);
      if (error instanceof WrongAnswer) this.#ready = undefined;
      throw error;
    } finally {
      this.load -= request.count;
      this.#requests--;
    }
  }

  /** @throws WrongAnswer: other weights sampled than the server was seen with, as after a restart */
  #requireWeights(
    completions: readonly RemoteCompletion[],
    { weightVersion: base }: ServerFacts,
    { kind, name }: PublishedWeights,
  ): void {
    for (const { model, weightVersion } of completions) {
      if (kind === 'adapter' && model !== undefined && model !== name)
        throw new WrongAnswer(`it sampled by ${model}, and was asked for ${name}`);
      if (weightVersion !== undefined && base !== undefined && weightVersion !== base)
        throw new WrongAnswer(`it sampled by the weights ${weightVersion}, and has been given ${base}`);
    }
  }

  #answered(): void {
    this.answeredAt = performance.now();
    if (this.#failures > 0) this.options.note?.(`${this.name} answers again.`);
    this.#failures = 0;
    this.#nextAt = 0;
  }

  /** @param started - when the request that failed was: several that fail together are one failure */
  #failed(error: NoAnswer | Refusal, started: number): void {
    const pause = error instanceof NoAnswer ? error.retryAfterSeconds : 0;
    this.#ready = undefined;
    this.#failure = error.message;
    if (started >= this.#failedAt) {
      this.#failures++;
      this.#failedAt = performance.now();
      if (this.#failures === 1)
        this.options.note?.(
          `${this.name}: ${error.message}. It is asked again; without an answer of any server the run ends after ${this.options.patienceSeconds ?? PATIENCE} s.`,
        );
    }
    const { pauseSeconds = PAUSE } = this.options;
    const wait = Math.max(pause, pauseSeconds * Math.min(MOST_PAUSES, 2 ** (this.#failures - 1)));
    this.#nextAt = Math.max(this.#nextAt, performance.now() + 1000 * wait);
  }

  /** Takes the run's adapters off the server. */
  async withdraw(prefix: string, signal: AbortSignal): Promise<void> {
    const facts = await this.dialect.facts(this.server, signal);
    await this.dialect.withdraw(this.server, facts, prefix, signal);
  }
}

const holds = ({ adapters, weightVersion }: ServerFacts, { kind, name }: PublishedWeights): boolean =>
  kind === 'adapter' ? adapters.includes(name) : weightVersion === name;
