import type { Problem, Task } from '../task.js';
import { DataOrder } from './data-order.js';

/**
 * Which problems each step takes where they are of several tasks: every run of neighbouring places has each task by its
 * share, to within one; within a task the order is {@link DataOrder}'s. A function of the seed alone, as that.
 */
export class MixedOrder {
  readonly #parts: { indices: number[]; share: number; order: DataOrder }[];
  /** How many problems each part gave up to a place. */
  #taken: number[];
  #place = 0;

  /** @param shares - by the `task` of a row */
  constructor(problems: readonly Problem[], shares: NonNullable<Task['shares']>, seed: number) {
    const total = Object.values(shares).reduce((a, b) => a + b, 0);
    this.#parts = Object.entries(shares).map(([task, share]) => {
      const indices = [...problems.keys()].filter(
        (i) => (problems[i]!.row as { task?: unknown }).task === task,
      );
      return { indices, share: share / total, order: new DataOrder(indices.length, seed) };
    });
    this.#taken = this.#parts.map(() => 0);
  }

  /** Indices of the `count` problems of a step, counted from 0, where all steps take as many. */
  at(step: number, count: number): number[] {
    return this.from(step * count, count);
  }

  /** Indices of the `count` problems after the first `position`. */
  from(position: number, count: number): number[] {
    if (position < this.#place) {
      this.#place = 0;
      this.#taken = this.#parts.map(() => 0);
    }
    while (this.#place < position) this.#next();
    return Array.from({ length: count }, () => {
      const part = this.#next();
      const { indices, order } = this.#parts[part]!;
      return indices[order.from(this.#taken[part]! - 1, 1)[0]!]!;
    });
  }

  /** Gives a place to the part that is furthest behind its share. */
  #next(): number {
    this.#place++;
    const behind = this.#parts.map(({ share }, k) => share * this.#place - this.#taken[k]!);
    const part = behind.indexOf(Math.max(...behind));
    this.#taken[part]!++;
    return part;
  }
}

/** The order of a task's problems: by its shares, where it has them. */
export const orderOf = (
  { train, shares }: { train: readonly Problem[]; shares?: Task['shares'] },
  seed: number,
): DataOrder | MixedOrder =>
  shares ? new MixedOrder(train, shares, seed) : new DataOrder(train.length, seed);
