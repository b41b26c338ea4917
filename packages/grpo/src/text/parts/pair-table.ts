/** A table from pairs of whole numbers (0 to 2^31 - 1) to whole numbers, in flat memory: half a million pairs are common. */
export class PairTable {
  readonly #cells: Int32Array;
  readonly #mask: number;

  /** @param most so many pairs at most */
  constructor(most: number) {
    const size = 2 ** Math.ceil(Math.log2(2 * most + 2));
    this.#mask = size - 1;
    // Left, right and value of each cell; a value of -1 is an empty one.
    this.#cells = new Int32Array(3 * size).fill(-1);
  }

  /** Puts a value where the pair has none, and returns the one that it has then. */
  add(left: number, right: number, value: number): number {
    const cells = this.#cells;
    const at = this.#find(left, right);
    if (cells[at + 2] === -1) {
      cells[at] = left;
      cells[at + 1] = right;
      cells[at + 2] = value;
    }
    return cells[at + 2]!;
  }

  /** The value of a pair, or -1. */
  get(left: number, right: number): number {
    return this.#cells[this.#find(left, right) + 2]!;
  }

  /** The cell of a pair, or the empty one where it belongs. */
  #find(left: number, right: number): number {
    const cells = this.#cells;
    let place = Math.imul(Math.imul(left, 0x9e3779b1) ^ right, 0x85ebca6b);
    place ^= place >>> 15;
    for (;;) {
      const at = 3 * (place & this.#mask);
      if (cells[at + 2] === -1 || (cells[at] === left && cells[at + 1] === right)) return at;
      place++;
    }
  }
}
