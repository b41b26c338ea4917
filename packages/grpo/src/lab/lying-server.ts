/** A server within this process that can be wrong in every way that probes are to find. */
import { cat, keep, noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { type Attend, type Model, type OwningDecoder, packSegments } from '../models/index.js';
import type { Dialect, ServerAccess, ServerFacts } from '../remote/dialect.js';
import type { JsonServer } from '../remote/json-server.js';
import { vllm } from '../remote/vllm.js';
import { scoresOf } from '../remote/weight-probe.js';
import { type Completion, type GroupRequest, type SamplingOptions, sample } from '../rollout/index.js';

const NAME = '127.0.0.1:9';

/** What the server does wrong. */
export interface Lies {
  /** It keeps the weights that it had, and acknowledges the new ones. */
  keepsWeights?: boolean;
  /** It keeps what it cached of prompts, until it is told to flush. */
  keepsCache?: boolean;
  /** It answers with log-probs from before the temperature. */
  isRaw?: boolean;
  /** It does not tell the ids that sampling kept, or tells log-probs over all beside them. */
  support?: 'hidden' | 'beside';
  /** Added to each log-prob in turn: what other kernels add. */
  noise?: () => number;
  /** Every other prompt is answered by the weights that it had before, and it says so. */
  mixesWeights?: boolean;
  /** It does not know the log-prob of every n-th completion. */
  unknownEvery?: number;
  /** It splits texts otherwise. */
  tokens?: (text: string) => number[];
  facts?: Partial<ServerFacts>;
}

/** Serves copies of a model's weights. */
export class LyingServer {
  flushes = 0;
  /** Weights by which it answers, and those by which it cached the prompt of the probe. */
  #decoder: OwningDecoder | undefined;
  #cached: OwningDecoder | undefined;
  readonly #owned: OwningDecoder[] = [];

  /** @param model - whose weights it takes */
  constructor(
    private readonly model: Model & { decoder: OwningDecoder },
    public lies: Lies = {},
  ) {}

  /** Takes the model's weights, as it says. */
  take(): void {
    if (this.lies.keepsWeights && this.#decoder) return;
    this.#decoder = this.model.decoder.clone();
    this.#owned.push(this.#decoder);
    if (!this.lies.keepsCache) this.#cached = undefined;
  }

  /** Completions as the run gets them. */
  async sample(
    requests: readonly GroupRequest[],
    options: SamplingOptions,
    seed: number,
    version: string,
  ): Promise<Completion[][]> {
    const [own, old] = [this.#decoder!, this.#owned.at(-2)];
    const { mixesWeights } = this.lies;
    const groups = await this.#draw(own, requests, options, seed);
    const others = mixesWeights && old ? await this.#draw(old, requests, options, seed) : groups;
    return groups.map((group, p) => {
      const isOld = others !== groups && p % 2 === 1;
      const source = { server: NAME, weightVersion: isOld ? 'old' : version };
      return (isOld ? others[p]! : group).map((one) => ({ ...one, source }));
    });
  }

  /** Completions with the log-probs that the server tells. */
  async #draw(
    decoder: OwningDecoder,
    requests: readonly GroupRequest[],
    options: SamplingOptions,
    seed: number,
  ): Promise<Completion[][]> {
    const model = { ...this.model, decoder };
    const groups = await sample(model, requests, options, seed);
    const cached = this.#cached ?? decoder;
    this.#cached = cached;
    const supportOf = (group: readonly Completion[]) =>
      this.lies.support === 'beside' ? undefined : group.map(({ support }) => support);
    return groups.map((group, p) => {
      const prompt = requests[p]!.ids;
      const ids = group.map((one) => one.ids);
      const scores =
        cached === decoder
          ? scoresOf(model, prompt, ids, this.lies.isRaw ? 1 : options.temperature, supportOf(group))
          : ids.map((completion) => scoresAfter(cached, decoder, prompt, completion));
      return group.map(({ weights: _, ...one }, i) => {
        const logprobs = scores[i]!.map((value) => this.#told(value));
        return { ...one, logprobs, sampledLogprobs: logprobs };
      });
    });
  }

  /** The server as it is asked, after it was given a version. */
  access(version: string): ServerAccess {
    const { decoder } = this.model;
    const facts: ServerFacts = {
      model: 'base',
      software: 'fake 1',
      isGrpo: false,
      maxModelLen: decoder.config.maxPositions,
      vocabSize: decoder.config.vocabSize,
      dtype: decoder.dtype,
      adapters: [],
      weightVersion: `run-${version}`,
      ...this.lies.facts,
    };
    const encode = this.lies.tokens ?? ((text: string) => this.model.tokenizer.encode(text));
    const post = async (_: string, { prompt }: { prompt: string }) => ({ tokens: encode(prompt) });
    const server = { name: NAME, post } as unknown as JsonServer;
    return {
      server,
      dialect: this.#dialect,
      facts,
      weights: { kind: 'model', name: `run-${version}`, version },
    };
  }

  dispose(): void {
    for (const decoder of this.#owned) decoder.dispose();
  }

  readonly #dialect = {
    supportHint: vllm.supportHint,
    generate: async (_, __, { prompt, count, limit, options, seed, keys }) => {
      const request = { ids: prompt, count, keys };
      const [group] = await this.#draw(this.#decoder!, [request], { ...options, maxNewTokens: limit }, seed);
      return group!.map(({ ids, logprobs, support }, index) => ({
        index,
        ids,
        support:
          this.lies.support === 'hidden' || !support ? undefined : ids.map((_, t) => [...support.ids(t)]),
        logprobs: [...logprobs].map((value) =>
          index % (this.lies.unknownEvery ?? count + 1) === 1 ? null : value,
        ),
        finishReason: 'length',
        prompt,
      }));
    },
    score: async (_, __, { ids }) => {
      const decoder = this.#decoder!;
      const [first, ...rest] = ids;
      const [scores] = scoresOf({ ...this.model, decoder }, [first!], [rest]);
      return [null, ...[...scores!].map((value) => this.#told(value))];
    },
    flush: async () => {
      this.flushes++;
      this.#cached = undefined;
    },
  } satisfies Partial<Dialect> as unknown as Dialect;

  #told(value: number): number {
    return value + (this.lies.noise?.() ?? 0);
  }
}

/** Log-probs of a completion whose prompt has the keys and values of other weights. */
function scoresAfter(
  cached: OwningDecoder,
  decoder: OwningDecoder,
  prompt: readonly number[],
  completion: readonly number[],
): Float32Array {
  return noGrad(() =>
    tidy(() => {
      const stored: { k: Tensor; v: Tensor }[] = [];
      const before = packSegments([{ ids: prompt }], cached.config, cached.device);
      const keepAll: Attend = (layer, q, k, v) => {
        stored[layer] = { k: keep(k), v: keep(v) };
        return before.attend(layer, q, k, v);
      };
      cached.hidden(before, keepAll);
      const packed = packSegments([{ ids: [...prompt, ...completion] }], decoder.config, decoder.device);
      const P = prompt.length;
      const swap = (own: Tensor, old: Tensor) => cat([old, own.narrow(0, P, completion.length)]);
      const attend: Attend = (layer, q, k, v) =>
        packed.attend(layer, q, swap(k, stored[layer]!.k), swap(v, stored[layer]!.v));
      const hidden = decoder.hidden(packed, attend);
      for (const { k, v } of stored) for (const tensor of [k, v]) tensor.dispose();
      const index = (ids: readonly number[]) => tensor([...ids], undefined, { dtype: 'int64' });
      // The prompt's last token is computed anew by every server.
      const rows = index(completion.map((_, t) => P - 1 + t));
      const logprobs = decoder.logits(hidden.indexSelect(0, rows)).to('float32').logSoftmax(-1);
      return Float32Array.from(
        logprobs.gather(1, index(completion).unsqueeze(1)).squeeze(1).toTypedArray() as Float32Array,
      );
    }),
  );
}
