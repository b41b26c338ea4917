/** Finds held-out questions that the training file has too, in three passes that hold hashes only. */
import { hashesOfRuns, hashOf } from './hash.js';

/** Words in a row that two questions share by more than chance. */
export const RUN = 13;

/** A run of words in more of the held-out questions than this is a form of words that the data is written in. */
const FORM_OF_WORDS = 10;

/** Equal for two questions that differ in white space only. */
export const keyOf = (question: string): number => hashOf(question.trim().replace(/\s+/g, ' '));

/** Takes the held-out questions, then those to train on, and then looks each held-out one up. */
export class Overlap {
  /** Number of held-out questions that have a run of words, by its hash. */
  readonly #runs = new Map<number, number>();
  /** Line of the training file that has the run, by its hash. */
  readonly #shared = new Map<number, number>();
  /** Line of the training file that has the whole question, by its key. */
  readonly #trained = new Map<number, number>();
  readonly #held = new Set<number>();

  hold(question: string): void {
    this.#held.add(keyOf(question));
    for (const run of new Set(hashesOfRuns(question, RUN)))
      this.#runs.set(run, (this.#runs.get(run) ?? 0) + 1);
  }

  train(line: number, question: string): void {
    const key = keyOf(question);
    if (this.#held.has(key) && !this.#trained.has(key)) this.#trained.set(key, line);
    for (const run of hashesOfRuns(question, RUN)) {
      const count = this.#runs.get(run);
      if (count !== undefined && count <= FORM_OF_WORDS && !this.#shared.has(run))
        this.#shared.set(run, line);
    }
  }

  /** Whether training has the question, or a run of its words; with the line of the training file. */
  of(question: string): { kind: 'leaked' | 'overlap'; line: number } | undefined {
    const same = this.#trained.get(keyOf(question));
    if (same !== undefined) return { kind: 'leaked', line: same };
    for (const run of hashesOfRuns(question, RUN)) {
      const line = this.#shared.get(run);
      if (line !== undefined) return { kind: 'overlap', line };
    }
    return undefined;
  }
}
