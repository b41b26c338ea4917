import { UserError } from '../errors/user-error.js';
import type { CompletionRequest } from '../rollout/completion-requests.js';

/** Attempts at the completions of one prompt. */
const ATTEMPTS = 5;

/** A key of the streams of completions that are drawn again: no place among the groups of a step is negative. */
const REDRAWN = -1;

/** Completions of one prompt with one limit, which are asked for together. */
export class SamplingTask {
  /** Places in the group that have no completion yet. */
  readonly wanted: Set<number>;
  readonly group: number;
  readonly prompt: readonly number[];
  /** In tokens. */
  readonly limit: number;
  readonly #keys: readonly number[];
  #attempts = 0;
  #redraws = 0;

  private constructor(rows: readonly CompletionRequest[]) {
    const [first] = rows;
    ({ group: this.group, prompt: this.prompt, limit: this.limit, keys: this.#keys } = first!);
    this.wanted = new Set(rows.map(({ index }) => index));
  }

  static all(rows: readonly CompletionRequest[]): SamplingTask[] {
    const together = new Map<string, CompletionRequest[]>();
    for (const row of rows) {
      const key = `${row.group} ${row.limit}`;
      const others = together.get(key);
      if (others) others.push(row);
      else together.set(key, [row]);
    }
    return [...together.values()].map((own) => new SamplingTask(own));
  }

  /** How many completions to ask for: their places decide how they are drawn, so those before come along. */
  get count(): number {
    return Math.max(...this.wanted) + 1;
  }

  /** Names the random streams; completions that could not be used are drawn from others. */
  get keys(): readonly number[] {
    return this.#redraws === 0 ? this.#keys : [...this.#keys, REDRAWN, this.#redraws];
  }

  /** @throws UserError after too many attempts */
  failed(server: string, why: string): void {
    if (++this.#attempts < ATTEMPTS) return;
    const places = [...this.wanted].map((index) => index + 1).join(', ');
    throw new UserError(
      `prompt ${this.group + 1}, completion ${places}: not sampled in ${ATTEMPTS} attempts. The last at ${server}: ${why}`,
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
