import { setTimeout as sleep } from 'node:timers/promises';
import type { RolloutEngine } from '../config/choices.js';
import { byteCount } from '../errors/byte-count.js';
import { UserError } from '../errors/user-error.js';
import type { Model } from '../models/index.js';
import type { Watch } from '../progress/watch.js';
import type { Completion, GroupRequest, SamplingOptions } from '../rollout/index.js';
import type { Dialect } from './dialect.js';
import { JsonServer } from './json-server.js';
import { PATIENCE, PooledServer, type ServerOptions } from './pooled-server.js';
import type { PublishedWeights } from './published-weights.js';
import { Sampling } from './sampling.js';
import { NoAnswer, Refusal, WrongAnswer } from './server-error.js';
import { sglang } from './sglang.js';
import { vllm } from './vllm.js';
import { whileWatched } from './while-watched.js';

/** By the engine that a setting names. */
export const dialects: Readonly<Record<Exclude<RolloutEngine, 'own'>, Dialect>> = { vllm, sglang };

/** Seconds for the last words to a server. */
const FAREWELL = 5;

/** How servers are asked. */
export interface PoolOptions extends ServerOptions {
  engine: keyof typeof dialects;
  /** Without a slash at the end. */
  urls: readonly string[];
  /** The key that they ask for. */
  key?: string | undefined;
  /** For one request. */
  timeoutSeconds: number;
}

/**
 * Servers that sample for a run. A prompt goes to the server with the least to do, and to another one where that fails:
 * completions are known by prompt and place, and what came whole is kept. Nothing is taken that other weights sampled.
 */
export class ServerPool implements AsyncDisposable {
  readonly dialect: Dialect;
  readonly servers: readonly PooledServer[];
  readonly #patience: number;
  #weights: PublishedWeights | undefined;
  /** The prefixes of the weights that were published. */
  readonly #prefixes = new Set<string>();
  /** When the servers were last given something to do. */
  #askedAt = 0;

  constructor(
    private readonly model: Model,
    options: PoolOptions,
  ) {
    const { engine, urls, key, timeoutSeconds, patienceSeconds = PATIENCE } = options;
    this.dialect = dialects[engine];
    this.#patience = patienceSeconds;
    this.servers = urls.map(
      (url) => new PooledServer(new JsonServer(url, timeoutSeconds, key), this.dialect, options),
    );
  }

  /**
   * Gives weights to the servers, which sample by them from now on. One that does not answer gets them when it does.
   *
   * @throws UserError: a server refuses them, or none answers; Abandoned
   */
  async publish(weights: PublishedWeights, watch: Watch): Promise<void> {
    this.#weights = weights;
    this.#prefixes.add(weights.prefix);
    this.#askedAt = performance.now();
    const { length: total } = this.servers;
    let done = 0;
    const report = () => watch.report({ stage: 'weights', done, total, unit: 'servers' });
    report();
    await whileWatched(report, async (signal) => {
      const give = async (server: PooledServer) => {
        if (!server.isFree) return;
        try {
          await server.prepare(weights, signal);
          done++;
        } catch (error) {
          signal.throwIfAborted();
          if (error instanceof Refusal || error instanceof WrongAnswer) throw refused(server, weights, error);
          if (!(error instanceof NoAnswer)) throw error;
        }
      };
      for (;;) {
        await Promise.all(this.servers.map(give));
        if (done > 0) return;
        await this.#wait(new Set(), signal);
      }
    });
  }

  /**
   * Samples completions, one group per request, by the weights that were published last.
   *
   * @throws UserError: for a prompt that does not fit, a server that reads other prompts, completions that no attempt
   * made usable, or where no server answers any more; Abandoned
   */
  async sample(
    requests: readonly GroupRequest[],
    options: SamplingOptions,
    seed: number,
    watch: Watch,
  ): Promise<Completion[][]> {
    if (!this.#weights) throw new Error('sampled before any weights were published');
    const sampling = new Sampling(this.model, requests, options, seed, this.#weights);
    const { waiting, total } = sampling;
    this.#askedAt = performance.now();
    const report = () => {
      const { done, tokens } = sampling;
      watch.report({ stage: 'rollout', done, total, unit: 'completions', tokens });
    };
    report();
    await whileWatched(report, async (signal) => {
      const running = new Set<Promise<void>>();
      while (waiting.length + running.size > 0) {
        for (let server = this.#freest(); server && waiting.length > 0; server = this.#freest()) {
          const one = sampling.attempt(server, waiting.shift()!, signal).finally(() => running.delete(one));
          running.add(one);
        }
        await this.#wait(running, signal);
      }
    });
    return sampling.groups;
  }

  /** The servers and what they say of themselves. */
  describe(): string {
    return this.servers.map((server) => server.describe()).join(' and ');
  }

  /** The server with the least to do of those that may be asked. */
  #freest(): PooledServer | undefined {
    const free = this.servers.filter(({ isFree }) => isFree);
    return free.sort((a, b) => a.load - b.load)[0];
  }

  /**
   * Waits until something ends, or a server may be asked again.
   *
   * @throws what ends with an error; UserError: the patience has ended
   */
  async #wait(running: ReadonlySet<Promise<void>>, signal: AbortSignal): Promise<void> {
    const answeredAt = Math.max(this.#askedAt, ...this.servers.map((server) => server.answeredAt));
    if (
      performance.now() - answeredAt > 1000 * this.#patience &&
      !this.servers.some(({ isBusy }) => isBusy)
    ) {
      const failures = this.servers.flatMap(({ failure }) => failure ?? []);
      throw new UserError(`no server has answered for ${this.#patience} s. ${failures.join('. ')}`, {
        hint: 'Start them again. Nothing of this step has changed the weights: resume the run then.',
      });
    }
    await Promise.race([...running, sleep(50, undefined, { signal })]);
  }

  /** Takes the run's adapters off the servers, where they answer. */
  async [Symbol.asyncDispose](): Promise<void> {
    const signal = AbortSignal.timeout(1000 * FAREWELL);
    const farewells = this.servers.flatMap((server) =>
      [...this.#prefixes].map((prefix) => server.withdraw(prefix, signal)),
    );
    // A server that has gone has no adapters left.
    await Promise.allSettled(farewells);
  }
}

function refused({ name }: PooledServer, { kind, bytes }: PublishedWeights, error: Error): UserError {
  const what = kind === 'adapter' ? 'an adapter' : 'weights';
  const isLocked = error instanceof Refusal && [401, 403].includes(error.status);
  return new UserError(`${name} does not take ${what} of ${byteCount(bytes)}: ${error.message}`, {
    hint: isLocked ? LOCKED : HINTS[kind],
    cause: error,
  });
}

const LOCKED =
  "Put the server's key into an environment variable, and the name of that into rollout.apiKeyEnv.";

const HINTS: Record<PublishedWeights['kind'], string> = {
  adapter:
    'vLLM: VLLM_ALLOW_RUNTIME_LORA_UPDATING=True vllm serve MODEL --enable-lora --max-lora-rank RANK. SGLang: --enable-lora --max-lora-rank RANK --lora-target-modules all. The folder must have the same path for the server: rollout.weightsFolder.',
  model: 'The folder must have the same path for the server: rollout.weightsFolder=FOLDER.',
};
