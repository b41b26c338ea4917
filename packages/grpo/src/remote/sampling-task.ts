import { UserError } from '../errors/user-error.js';
import type { CompletionRequest } from '../rollout/index.js';

/** Attempts at the completions of one prompt. */
const ATTEMPTS = 5;

/** A key of the streams of completions that are drawn again: no place among the groups of a step is negative. */
const REDRAWN = -1;

/** Completions of one prompt with one limit and temperature, which are asked for together. */
export class SamplingTask {
  /** Places in the group that have no completion yet. */
  readonly wanted: Set<number>;
  #attempts = 0;
  #redraws = 0;

  /** @param request - the first of them */
  private constructor(
    readonly request: CompletionRequest,
    places: readonly number[],
  ) {
    this.wanted = new Set(places);
  }

  static all(rows: readonly CompletionRequest[]): SamplingTask[] {
    const together = new Map<string, CompletionRequest[]>();
    for (const row of rows) {
      const key = `${row.group} ${row.limit} ${row.options.temperature}`;
      const others = together.get(key);
      if (others) others.push(row);
      else together.set(key, [row]);
    }
    return [...together.values()].map(
      (own) =>
        new SamplingTask(
          own[0]!,
          own.map(({ index }) => index),
        ),
    );
  }

  /**
   * Those to ask for, in the order in which they come: where a place decides how its completion is drawn, all before it
   * come along.
   */
  get asked(): number[] {
    const isGreedy = this.request.options.temperature === 0;
    return isGreedy ? [...this.wanted] : Array.from({ length: Math.max(...this.wanted) + 1 }, (_, i) => i);
  }

  /** Names the random streams; completions that could not be used are drawn from others. */
  get keys(): readonly number[] {
    const { keys } = this.request;
    return this.#redraws === 0 ? keys : [...keys, REDRAWN, this.#redraws];
  }

  /** @throws UserError after too many attempts */
  failed(server: string, why: string): void {
    if (++this.#attempts < ATTEMPTS) return;
    const places = [...this.wanted].map((index) => index + 1).join(', ');
    throw new UserError(
      `prompt ${this.request.group + 1}, completion ${places}: not sampled in ${ATTEMPTS} attempts. The last at ${server}: ${why}`,
      {
        hint: "Look at the server's log. Nothing of this step has changed the weights: resume the run once the server is well.",
      },
    );
  }

  /** A completion cannot be used: another one is drawn. @throws UserError after too many attempts */
  redraw(server: string, index: number, why: string): void {
    this.#redraws++;
    this.failed(server, `completion ${index + 1}: ${why}`);
  }
}
