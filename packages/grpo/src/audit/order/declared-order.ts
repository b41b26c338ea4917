/** The order that a run's seed declares for its data, computed a second way: `tasks/order/` computes it the first. */
import { absorb, drawOf } from './declared-draw.js';

/** The rows of one epoch: Fisher–Yates, whose draw for place i depends on seed, epoch and i alone. */
function shuffled(size: number, seed: number, epoch: number): number[] {
  const state = absorb(absorb(0n, seed), epoch);
  const rows = [...Array(size).keys()];
  for (let i = size - 1; i > 0; i--) {
    const draw = drawOf(absorb(state, i));
    const j = Math.floor(draw * (i + 1));
    [rows[i], rows[j]] = [rows[j]!, rows[i]!];
  }
  return rows;
}

/** Rows in the order of a seed: epoch after epoch, each in an order of its own. */
export class DeclaredOrder {
  readonly #epochs = new Map<number, readonly number[]>();

  constructor(
    private readonly rows: readonly number[],
    private readonly seed: number,
  ) {}

  /** Rows of an epoch. */
  get size(): number {
    return this.rows.length;
  }

  /** The row at a place, counted from 0 over all epochs. */
  at(place: number): number {
    const { size } = this;
    const epoch = Math.floor(place / size);
    let order = this.#epochs.get(epoch);
    if (!order) {
      order = shuffled(size, this.seed, epoch);
      this.#epochs.set(epoch, order);
    }
    return this.rows[order[place % size]!]!;
  }

  /**
   * The first place between two from which the rows follow each other; undefined where there is none.
   *
   * @param least - first place that is tried
   * @param most - last place that is tried
   */
  find(rows: readonly number[], least: number, most: number): number | undefined {
    for (let place = least; place <= most; place++)
      if (rows.every((row, i) => this.at(place + i) === row)) return place;
    return undefined;
  }
}
