import type { Problem, Task } from '../task.js';
import type { DataOrder } from './data-order.js';
import { type MixedOrder, orderOf } from './mixed-order.js';

/**
 * The problems of a run, in the order of its seed. A step may take more than its own where groups are replaced;
 * how many were taken in all is in the run's progress, so that a resumed run goes on behind them.
 */
export class Supply {
  readonly #order: DataOrder | MixedOrder;

  /**
   * @param progress - `problems` counts those taken, so far and from here on
   * @param shares - of the tasks of a mixture
   */
  constructor(
    private readonly problems: readonly Problem[],
    seed: number,
    private readonly progress: { problems?: number | undefined } = {},
    shares?: Task['shares'],
  ) {
    this.#order = orderOf({ train: problems, shares }, seed);
  }

  /** The first `count` problems, which stay to be taken. */
  first(count: number): Problem[] {
    return this.#order.from(0, count).map((i) => this.problems[i]!);
  }

  /** The next `count` problems. */
  take(count: number): Problem[] {
    const { problems: taken = 0 } = this.progress;
    this.progress.problems = taken + count;
    const indices = this.#order.from(taken, count);
    return indices.map((i) => this.problems[i]!);
  }
}
