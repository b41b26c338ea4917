import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { truncates } from '../config/rules/inert.js';
import type { Config } from '../config/schema.js';
import { byteCount } from '../errors/byte-count.js';
import { type Model, weightsChecksum } from '../models/index.js';
import { Watch } from '../progress/watch.js';
import type { GroupRequest, sample } from '../rollout/index.js';
import type { ServerRecord } from '../trace/index.js';
import { Inspection } from './inspection.js';
import { keyIn } from './json-server.js';
import { type HandOver, PublishedWeights, sweepWeights } from './published-weights.js';
import { ServerPool } from './server-pool.js';

/** The run that samples. */
export interface SamplingRun {
  config: Config;
  model: Model;
  /** Its steps that are done. */
  progress: { readonly step: number };
  note(text: string): void;
}

/** Samples a run's completions on its servers, which get the weights whenever these have changed. */
export class RemoteSampler implements AsyncDisposable {
  readonly #pool: ServerPool;
  readonly #place: HandOver;
  #inspection: Inspection | undefined;
  /** The weights that the servers have; a run that is resumed gives them its own first. */
  #given: { checksum: number; step: number } | undefined;

  constructor(private readonly run: SamplingRun) {
    const { config, model, note } = run;
    const { engine, urls = [], apiKeyEnv, timeoutSeconds, weightsFolder } = config.rollout;
    if (engine === 'own') throw new Error('rollout.engine=own has no servers');
    this.#pool = new ServerPool(model, {
      ...{ engine, urls, key: keyIn('rollout.apiKeyEnv', apiKeyEnv), timeoutSeconds, note },
      inspect: (access) => this.#inspection!.look(access),
    });
    this.#place = {
      folder: weightsFolder && resolve(weightsFolder),
      runFolder: resolve(join(config.output, 'weights')),
      isLocal: urls.every((url) => LOCAL.test(url)),
      prefix: `${runName(config.output)}-`,
      session: randomBytes(2).toString('hex'),
    };
    sweepWeights(this.#place);
  }

  /** The servers that were looked at, for the record of a step. */
  get records(): readonly ServerRecord[] {
    return this.#inspection?.records ?? [];
  }

  /** In place of the sampler of this process. */
  readonly sample: typeof sample = async (_, requests, options, seed, watch = new Watch()) => {
    this.#inspection ??= this.#inspectionFor(requests);
    await this.#publish(this.#inspection, watch);
    return this.#pool.sample(requests, options, seed, watch);
  };

  /** @param requests - of which the longest prompt must fit */
  #inspectionFor(requests: readonly GroupRequest[]): Inspection {
    const { model, config, note } = this.run;
    const { temperature, maxNewTokens, topP, topK, minP, invariant } = config.rollout;
    const truncation = truncates(config.rollout) ? { topP, topK, minP } : undefined;
    const [prompt = []] = requests.map(({ ids }) => ids).sort((a, b) => b.length - a.length);
    const { seed } = config;
    return new Inspection({ model, prompt, temperature, truncation, invariant, maxNewTokens, seed }, note);
  }

  async #publish(inspection: Inspection, watch: Watch): Promise<void> {
    const { model, progress, note } = this.run;
    const { step } = progress;
    const checksum = weightsChecksum(model.decoder);
    // The checksum reads a part of the weights: a small step may not show in it.
    if (checksum === this.#given?.checksum && step === this.#given.step) return;
    const isFirst = this.#given === undefined;
    const weights = new PublishedWeights(model, `step-${step}`, this.#place);
    const started = performance.now();
    await inspection.published(weights.version);
    await this.#pool.publish(weights, watch);
    this.#given = { checksum, step };
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const { kind, bytes } = weights;
    const what = kind === 'adapter' ? 'the adapter' : 'all weights';
    if (isFirst)
      note(
        `Completions are sampled by ${this.#pool.describe()}. After each step ${what} (${byteCount(bytes)}) ${kind === 'adapter' ? 'is' : 'are'} handed over: ${seconds} s the first time${probed(this.records)}.`,
      );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }
}

/** What the probe of the servers took of it. */
function probed(records: readonly ServerRecord[]): string {
  const seconds = Math.max(0, ...records.flatMap(({ probe }) => probe?.seconds ?? []));
  return `, ${seconds.toFixed(1)} s of them to see that it has arrived`;
}

const LOCAL = /^https?:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|\/|$)/;

/**
 * Begins the names of a run's weights at its servers, where other runs have theirs. A run that is resumed finds by it
 * what it left there.
 */
const runName = (output: string): string =>
  `grpo-${createHash('sha256')
    .update(`${hostname()} ${resolve(output)}`)
    .digest('hex')
    .slice(0, 8)}`;
