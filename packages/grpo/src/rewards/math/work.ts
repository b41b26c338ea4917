/** Bounds of the work of a comparison: an answer is written by a model, and may be anything. */

/** Characters of an answer that is looked at; a longer one is refused unread. */
export const MAX_LENGTH = 4096;

/** Groups within groups. */
export const MAX_DEPTH = 40;

/** Operations of one comparison: about a tenth of a second. */
const BUDGET = 100_000;

/** Why two answers cannot be compared. */
export type Refusal = 'nested too deep' | 'too much work' | 'not mathematics' | 'undefined';

/** Ends a comparison that leads nowhere. */
export class RefusalError extends Error {
  constructor(readonly reason: Refusal) {
    super(reason);
  }
}

/** Counts operations, and ends the comparison when there were too many. */
export class Work {
  #left = BUDGET;

  spend(operations: number): void {
    this.#left -= operations;
    if (this.#left < 0) throw new RefusalError('too much work');
  }
}
