/** The order that a run's seed declares for its data, computed a second way: `tasks/order/` computes it the first. */

const MASK = (1n << 64n) - 1n;
const GAMMA = 0x9e3779b97f4a7c15n;

/** The finalizer of splitmix64 over a state that has taken one key more. */
function absorb(state: bigint, key: number): bigint {
  let z = ((state ^ (BigInt(key) & MASK)) + GAMMA) & MASK;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
}

/** The rows of one epoch: Fisher–Yates, whose draw for place i depends on seed, epoch and i alone. */
function shuffled(size: number, seed: number, epoch: number): number[] {
  const state = absorb(absorb(0n, seed), epoch);
  const rows = [...Array(size).keys()];
  for (let i = size - 1; i > 0; i--) {
    const draw = Number(absorb(state, i) >> 11n) / 2 ** 53;
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

  /** The row at a place, counted from 0 over all epochs. */
  at(place: number): number {
    const size = this.rows.length;
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
