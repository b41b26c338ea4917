import { noGrad, tidy } from '@grpo/torch';
import { joinRows } from '../maths/lists.js';
import { type Model, weightsChecksum } from '../models/index.js';
import { type ScoredGroup, scoreTokens } from '../objective/index.js';
import { plainSampling, sample } from '../rollout/index.js';
import { rowsOf, type WeightProbe } from '../trace/index.js';
import type { RemoteCompletion, ServerAccess } from './dialect.js';
import { isKnownDtype, roundingBound } from './rounding-bound.js';
import { WrongAnswer } from './server-error.js';

/** Tokens of prompt and completion together: servers cache whole blocks of 16, or of 64. */
const LONGEST = 160;

/** Tokens of the completion that is scored, and the share of all that it may have. */
const SCORED = 32;
const SHARE = 1 / 3;

/** Completions that are sampled, and their tokens at most. */
const SAMPLED = { count: 4, limit: 16 };

/** Streams of the probe's draws. */
const STREAM = -3;

/** The number type that a server is taken to have where it tells none of the usual ones: the coarsest of these. */
const COARSE = 'bfloat16';

/** The adapter that requests are to name. */
export const adapterOf = ({ weights: { kind, name } }: ServerAccess): string | undefined =>
  kind === 'adapter' ? name : undefined;

/** The trainer's own numbers of a probe, for one version of the weights. */
interface OwnScores {
  version: string;
  checksum: number;
  logprobs: Float32Array;
}

/**
 * Asks servers for log-probs of one prompt whenever they got new weights. What the trainer computed with the weights before
 * is kept, so that old weights are known by their numbers.
 */
export class WeightProbes {
  readonly #prompt: readonly number[];
  /** Tokens of the completion. */
  readonly #scored: number;
  #completion: readonly number[] | undefined;
  #current: OwnScores | undefined;
  #before: OwnScores | undefined;
  /** What rounding explains, by the number type of a server. */
  readonly #bounds = new Map<string, number>();

  /**
   * @param prompt - of a kind that the run samples from; its beginning is taken
   * @param length - tokens that every server takes
   */
  constructor(
    private readonly model: Model,
    prompt: readonly number[],
    length: number,
    private readonly seed: number,
    /** Every request must have a top-k, as where a server tells the ids that sampling kept. */
    private readonly needsTopK = false,
  ) {
    const all = Math.min(LONGEST, length, model.decoder.config.maxPositions);
    this.#scored = Math.min(SCORED, Math.floor(SHARE * all));
    // A short prompt is said again: less than a block of it would not be cached. Scoring may draw a token more.
    const places = { length: all - this.#scored - 1 };
    this.#prompt = Array.from(places, (_, t) => prompt[t % prompt.length]!);
  }

  /** The model has new weights, which are to be handed over. */
  async published(version: string): Promise<void> {
    const { model } = this;
    this.#completion ??= await this.#ownCompletion();
    const [logprobs] = scoresOf(model, this.#prompt, [this.#completion]);
    this.#before = this.#current;
    this.#current = { version, checksum: weightsChecksum(model.decoder), logprobs: logprobs! };
  }

  /** What a server answers that was given the weights. @throws what the dialect throws; WrongAnswer */
  async take(access: ServerAccess): Promise<WeightProbe> {
    const [prompt, completion, current] = [this.#prompt, this.#completion!, this.#current!];
    const before = this.#before;
    const { server, dialect, facts, weights, signal } = access;
    const adapter = adapterOf(access);
    const started = performance.now();
    const sampled = await this.#sampled(access);
    await dialect.flush(server, signal);
    const ids = [...prompt, ...completion];
    const scores = await dialect.score(server, facts, { ids, adapter, signal });
    // The prompt is cached again, by these weights: the next probe finds it there if the next weights do not clear it.
    await this.#generate(access, { count: 1, limit: 1 });
    const [{ model, weightVersion = facts.weightVersion, weights: checksum }] = sampled as [RemoteCompletion];
    const answered = adapter === undefined ? weightVersion : model;
    const rows = sampled.map((one) => one.ids);
    return {
      expected: current.version,
      // A server that does not tell is known by its numbers.
      answered: answered === undefined || answered === weights.name ? weights.version : answered,
      ...(before && { previous: before.version, before: before.logprobs }),
      ...(checksum !== undefined && { checksums: { trainer: current.checksum, server: checksum } }),
      prompt: Int32Array.from(prompt),
      completion: Int32Array.from(completion),
      trainer: current.logprobs,
      cold: Float32Array.from(scores.slice(prompt.length), (value) => value ?? Number.NaN),
      sampled: joinRows(Int32Array, rows),
      sampledLengths: Int32Array.from(rows, ({ length }) => length),
      warm: joinRows(
        Float32Array,
        sampled.map(({ logprobs }) => logprobs as number[]),
      ),
      rescored: joinRows(Float32Array, scoresOf(this.model, prompt, rows)),
      bound: this.#boundTo(facts.dtype),
      seconds: (performance.now() - started) / 1000,
    };
  }

  #boundTo(told: string | undefined): number {
    const dtype = told !== undefined && isKnownDtype(told) ? told : COARSE;
    const { decoder } = this.model;
    const bound = this.#bounds.get(dtype) ?? roundingBound(decoder, this.#prompt, [decoder.dtype, dtype]);
    this.#bounds.set(dtype, bound);
    return bound;
  }

  async #ownCompletion(): Promise<readonly number[]> {
    const options = { ...plainSampling, maxNewTokens: this.#scored, minNewTokens: this.#scored };
    const request = { ids: this.#prompt, count: 1, keys: [STREAM] };
    const groups = await sample(this.model, [request], options, this.seed);
    return groups[0]![0]!.ids;
  }

  /** Completions that the server sampled with what it has cached, those left out whose log-probs it does not know. */
  async #sampled(access: ServerAccess): Promise<RemoteCompletion[]> {
    const all = await this.#generate(access, { ...SAMPLED, limit: Math.min(SAMPLED.limit, this.#scored) });
    const known = all.filter(
      ({ ids, logprobs }) => ids.length === logprobs.length && !logprobs.includes(null),
    );
    if (known.length === 0)
      throw new WrongAnswer(`it samples ${all.length} completions of ${SAMPLED.count}, none with log-probs`);
    return known;
  }

  #generate(access: ServerAccess, lot: { count: number; limit: number }): Promise<RemoteCompletion[]> {
    const { server, dialect, facts, signal } = access;
    return dialect.generate(server, facts, {
      ...lot,
      prompt: this.#prompt,
      options: { ...plainSampling, topK: this.needsTopK ? this.model.decoder.config.vocabSize : 0 },
      endIds: this.model.endIds,
      seed: this.seed,
      keys: [STREAM],
      adapter: adapterOf(access),
      signal,
    });
  }
}

/** Log-probs of completions of one prompt by the trainer, at temperature 1 unless another is given. */
export const scoresOf = (
  { decoder }: Model,
  prompt: readonly number[],
  completions: readonly (readonly number[])[],
  temperature = 1,
  support?: ScoredGroup['support'],
): Float32Array[] =>
  noGrad(() =>
    tidy(() => {
      const { logprobs_T } = scoreTokens(
        decoder,
        [{ prompt, completions, ...(support && { support }) }],
        temperature,
      );
      const all = Float32Array.from(logprobs_T.toTypedArray() as Float32Array);
      return rowsOf(
        all,
        completions.map(({ length }) => length),
      );
    }),
  );
