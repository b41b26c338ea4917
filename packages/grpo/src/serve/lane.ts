import { emptyCache, isOutOfMemory } from '@grpo/torch';
import { UserError } from '../errors/user-error.js';
import type { ServedPrompt } from '../memory/serving.js';
import type { Model } from '../models/index.js';
import { Watch } from '../progress/watch.js';
import { Decoding, type DecodingRow, isAdjusted } from '../rollout/index.js';
import type { Job } from './job.js';

/** What a row belongs to. */
interface Owner {
  job: Job;
  /** Shared by the rows that joined together. */
  prompt: ServedPrompt;
}

/** The completions of one model, or of one adapter on it, that grow together, whatever requests they are from. */
export class Lane {
  readonly #decoding: Decoding;
  readonly #owners = new Map<DecodingRow, Owner>();

  /** @param lotBytes - bounds what prompts are computed together */
  constructor(model: Model, lotBytes: number) {
    this.#decoding = new Decoding(model, lotBytes);
  }

  get rows(): number {
    return this.#owners.size;
  }

  /** The prompts that have rows. */
  get prompts(): ServedPrompt[] {
    return [...new Set([...this.#owners.values()].map(({ prompt }) => prompt))];
  }

  get jobs(): Set<Job> {
    return new Set([...this.#owners.values()].map(({ job }) => job));
  }

  /** The next completions of a job begin. */
  join(job: Job, count: number): void {
    const prompt = promptOf(job, count);
    for (const row of this.#decoding.join(job.take(count))) this.#owners.set(row, { job, prompt });
  }

  /** Takes the rows of settled jobs out. */
  dropSettled(): void {
    const leaving = new Set([...this.#owners].flatMap(([row, { job }]) => (job.isSettled ? [row] : [])));
    if (leaving.size === 0) return;
    this.#decoding.drop(leaving);
    for (const row of leaving) this.#remove(row);
  }

  /**
   * One more token of each row, or the first ones of those that joined.
   *
   * @returns tokens that were drawn
   */
  advance(): number {
    const before = this.#decoding.tokens;
    const lengths = new Map([...this.#owners.keys()].map((row) => [row, row.ids.length]));
    this.#decoding.advance(new Watch());
    for (const [row, length] of lengths) if (row.ids.length > length) tell(this.#owners.get(row)!.job, row);
    for (const { row, completion } of this.#decoding.finished.splice(0)) {
      const { job } = this.#owners.get(row)!;
      this.#remove(row);
      job.finish(row.index, completion);
      job.answerIfDone();
    }
    return this.#decoding.tokens - before;
  }

  /** Ends all that grows with an error, which the engine threw. */
  fail(error: unknown): void {
    if (isOutOfMemory(error)) emptyCache();
    const told = isOutOfMemory(error) ? shortage(this.rows, error) : error;
    for (const job of this.jobs) if (!job.isSettled) job.fail(told);
  }

  dispose(): void {
    this.#decoding.dispose();
  }

  #remove(row: DecodingRow): void {
    this.#owners.get(row)!.prompt.count--;
    this.#owners.delete(row);
  }
}

/** A job's prompt with so many completions, as its memory goes. */
export const promptOf = ({ request: { prompt, options }, limit }: Job, count: number): ServedPrompt => ({
  length: prompt.length,
  count,
  newTokens: limit,
  adjusted: isAdjusted(options),
});

/** A listener that throws ends its own request. */
function tell(job: Job, row: DecodingRow): void {
  if (job.isSettled) return;
  try {
    job.tell(row);
  } catch (error) {
    job.fail(error);
  }
}

const shortage = (rows: number, cause: unknown) =>
  new UserError(`out of memory with ${rows} completions at once`, {
    hint: 'Give the server less memory than the device has free, so that it decodes fewer at once',
    cause,
  });
