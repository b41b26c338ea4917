import type { Completion, CompletionRequest, DecodingRow } from '../rollout/index.js';
import type { Generated, GenerateRequest } from './generation.js';

/** A request on its way to its answer. */
export class Job {
  readonly answer: Promise<Generated>;
  /** How many of its completions have joined the batch. */
  joined = 0;
  /** Whether it has its answer, or an error. */
  isSettled = false;
  /** Version of the weights that compute it, from its beginning on. */
  weightVersion: string | undefined;
  promptLogprobs: (number | null)[] | undefined;
  readonly #completions: Completion[] = [];
  #resolve!: (answer: Generated) => void;
  #reject!: (error: unknown) => void;

  /** @param limit - longest completion, in tokens */
  constructor(
    readonly request: GenerateRequest,
    readonly limit: number,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Completions that are to be drawn. */
  get count(): number {
    return this.limit === 0 ? 0 : this.request.count;
  }

  get hasBegun(): boolean {
    return this.weightVersion !== undefined;
  }

  /** The next completions to join. */
  take(count: number): CompletionRequest[] {
    const { prompt, keys, options, seed } = this.request;
    const first = this.joined;
    this.joined += count;
    return Array.from({ length: count }, (_, i) => ({
      group: 0,
      index: first + i,
      prompt,
      keys,
      limit: this.limit,
      options,
      seed,
    }));
  }

  /** Tells the client the last token of a row. */
  tell({ index, ids, logprobs, sampledLogprobs }: DecodingRow): void {
    this.request.onToken?.(index, {
      id: ids.at(-1)!,
      logprob: logprobs.at(-1)!,
      sampledLogprob: sampledLogprobs.at(-1)!,
    });
  }

  finish(index: number, completion: Completion): void {
    this.#completions[index] = completion;
  }

  /** Answers, if nothing is missing. */
  answerIfDone(): void {
    if (this.isSettled || Object.keys(this.#completions).length < this.count) return;
    this.isSettled = true;
    const { promptLogprobs, weightVersion } = this;
    this.#resolve({
      completions: this.#completions,
      ...(promptLogprobs && { promptLogprobs }),
      weightVersion: weightVersion!,
    });
  }

  fail(error: unknown): void {
    this.isSettled = true;
    this.#reject(error);
  }
}
