import type { Problem } from '../tasks/task.js';
import { DataOrder } from './data-order.js';

/**
 * The problems of a run, in the order of its seed. A step may take more than its own where groups give way to others;
 * how many were taken in all is in the run's progress, so that a resumed run goes on behind them.
 */
export class Supply {
  readonly #order: DataOrder;

  /** @param progress - `problems` counts those taken, so far and from here on */
  constructor(
    private readonly problems: readonly Problem[],
    seed: number,
    private readonly progress: { problems?: number | undefined } = {},
  ) {
    this.#order = new DataOrder(problems.length, seed);
  }

  /** The next `count` problems. */
  take(count: number): Problem[] {
    const { problems: taken = 0 } = this.progress;
    this.progress.problems = taken + count;
    const indices = this.#order.from(taken, count);
    return indices.map((i) => this.problems[i]!);
  }
}
