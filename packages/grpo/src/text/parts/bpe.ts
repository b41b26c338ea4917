import type { BpeModel } from '../tokenizer-model.js';
import { byteTokens } from './byte-tokens.js';
import { PairTable } from './pair-table.js';

/** Words that are remembered with their ids. */
const MOST_WORDS = 20_000;
const LONGEST_WORD = 256;

/** Byte-pair encoding of single words. */
export class Bpe {
  readonly #ids: ReadonlyMap<string, number>;
  /** The rank of a merge, by the ids of its pair. */
  readonly #ranks: PairTable;
  /** What each merge makes, by its rank. */
  readonly #made: Int32Array;
  readonly #bytes: readonly (number | undefined)[] | undefined;
  readonly #unknown: number | undefined;
  readonly #known = new Map<string, readonly number[]>();

  constructor(
    private readonly model: BpeModel,
    ids: ReadonlyMap<string, number>,
  ) {
    const { merges } = model;
    this.#ids = ids;
    this.#ranks = new PairTable(merges.length);
    this.#made = new Int32Array(merges.length);
    for (const [rank, [left, right]] of merges.entries()) {
      this.#ranks.add(ids.get(left)!, ids.get(right)!, rank);
      this.#made[rank] = ids.get(left + right)!;
    }
    this.#bytes = model.byte_fallback ? byteTokens(ids) : undefined;
    this.#unknown = model.unk_token === undefined ? undefined : ids.get(model.unk_token);
  }

  /** The ids of a word. */
  encode(word: string): readonly number[] {
    const known = this.#known.get(word);
    if (known) return known;
    const whole = this.model.ignore_merges ? this.#ids.get(word) : undefined;
    const ids = whole === undefined ? this.#merged(this.#charactersOf(word)) : [whole];
    if (word.length <= LONGEST_WORD) {
      if (this.#known.size >= MOST_WORDS) this.#known.clear();
      this.#known.set(word, ids);
    }
    return ids;
  }

  /** The ids of a word's characters: of each its own, else those of its bytes, else the unknown token's. */
  #charactersOf(word: string): number[] {
    const ids: number[] = [];
    let isUnknown = false;
    // As the Rust library does: an unknown token waits for the next character that is known, bytes go in front of it.
    const flush = () => {
      if (isUnknown) ids.push(this.#unknown!);
      isUnknown = false;
    };
    for (const char of word) {
      const id = this.#ids.get(char);
      const bytes = id === undefined && this.#bytes ? this.#bytesOf(char) : undefined;
      if (bytes) ids.push(...bytes);
      else if (id !== undefined) {
        flush();
        ids.push(id);
      } else if (this.#unknown !== undefined) {
        if (!this.model.fuse_unk) flush();
        isUnknown = true;
      }
    }
    flush();
    return ids;
  }

  #bytesOf(char: string): number[] | undefined {
    const ids = Array.from(Buffer.from(char), (byte) => this.#bytes![byte]);
    return ids.every((id) => id !== undefined) ? ids : undefined;
  }

  /** Merges the pair of the lowest rank, of equal ones the leftmost, until there is none. */
  #merged(ids: number[]): number[] {
    const { length } = ids;
    if (length < 2) return ids;
    // A list of places; a place that was merged into the one before it has the id -1.
    const next = Int32Array.from(ids, (_, i) => i + 1);
    const previous = Int32Array.from(ids, (_, i) => i - 1);
    const ranks = new Int32Array(length).fill(-1);
    const queue: number[] = [];
    const look = (at: number) => {
      const right = next[at]!;
      const rank = right < length ? this.#ranks.get(ids[at]!, ids[right]!) : -1;
      ranks[at] = rank;
      if (rank >= 0) push(queue, rank * length + at);
    };
    for (let at = 0; at < length - 1; at++) look(at);
    while (queue.length > 0) {
      const first = pop(queue);
      const at = first % length;
      const rank = (first - at) / length;
      // The pair at this place has become another since.
      if (ranks[at] !== rank) continue;
      const right = next[at]!;
      ids[at] = this.#made[rank]!;
      ids[right] = -1;
      ranks[right] = -1;
      next[at] = next[right]!;
      if (next[at]! < length) previous[next[at]!] = at;
      look(at);
      if (previous[at]! >= 0) look(previous[at]!);
    }
    return ids.filter((id) => id >= 0);
  }
}

/** Puts a number into a heap whose smallest is on top. */
function push(heap: number[], value: number): void {
  let at = heap.length;
  heap.push(value);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (heap[parent]! <= value) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = value;
}

/** Takes the smallest number out of a heap. */
function pop(heap: number[]): number {
  const smallest = heap[0]!;
  const value = heap.pop()!;
  const { length } = heap;
  if (length === 0) return smallest;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= length) break;
    if (child + 1 < length && heap[child + 1]! < heap[child]!) child++;
    if (heap[child]! >= value) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = value;
  return smallest;
}
