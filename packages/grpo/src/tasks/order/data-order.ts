import { permutation } from '../../maths/random.js';

/**
 * Which problems each step takes: every epoch in a new order, a function of the seed alone, so that a step's problems
 * are known without the steps before it.
 */
export class DataOrder {
  #epoch = -1;
  #order: number[] = [];

  constructor(
    private readonly size: number,
    private readonly seed: number,
  ) {}

  /** Indices of the `count` problems of a step, counted from 0, where all steps take as many. */
  at(step: number, count: number): number[] {
    return this.from(step * count, count);
  }

  /** Indices of the `count` problems after the first `position`. */
  from(position: number, count: number): number[] {
    return Array.from({ length: count }, (_, i) => {
      const place = position + i;
      return this.#of(Math.floor(place / this.size))[place % this.size]!;
    });
  }

  #of(epoch: number): number[] {
    if (epoch !== this.#epoch) {
      this.#order = permutation(this.size, this.seed, epoch);
      this.#epoch = epoch;
    }
    return this.#order;
  }
}
