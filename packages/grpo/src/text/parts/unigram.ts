import type { UnigramModel } from '../tokenizer-model.js';
import { byteTokens } from './byte-tokens.js';
import { PairTable } from './pair-table.js';

/** So much less than the lowest score an unknown character counts. */
const UNKNOWN_PENALTY = 10;

/** Of all ways to cut a word into pieces, the one with the best sum of scores. */
export class Unigram {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #scores: Float64Array;
  readonly #unknown: number;
  readonly #unknownScore: number;
  readonly #bytes: readonly (number | undefined)[] | undefined;
  /** The pieces as a tree: from a node, 0 at first, by a UTF-16 unit to the next; and the piece that ends at a node. */
  readonly #tree: PairTable;
  readonly #ends: Int32Array;

  constructor(
    { vocab, unk_id, byte_fallback }: UnigramModel & { unk_id: number },
    ids: ReadonlyMap<string, number>,
  ) {
    this.#ids = ids;
    this.#scores = Float64Array.from(vocab, ([, score]) => score);
    this.#unknown = unk_id;
    this.#unknownScore = this.#scores.reduce((low, score) => Math.min(low, score)) - UNKNOWN_PENALTY;
    this.#bytes = byte_fallback ? byteTokens(this.#ids) : undefined;
    const most = vocab.reduce((sum, [piece]) => sum + piece.length, 1);
    this.#tree = new PairTable(most);
    this.#ends = new Int32Array(most).fill(-1);
    let nodes = 1;
    for (const [piece, id] of this.#ids) {
      let node = 0;
      for (let i = 0; i < piece.length; i++) {
        node = this.#tree.add(node, piece.charCodeAt(i), nodes);
        if (node === nodes) nodes++;
      }
      this.#ends[node] = id;
    }
  }

  /** The ids of a word. */
  encode(word: string): number[] {
    const { length } = word;
    // Of the best way to each place: its score, the piece that ends there, and where that begins.
    const scores = new Float64Array(length + 1);
    const pieces = new Int32Array(length + 1);
    const starts = new Int32Array(length + 1).fill(-1);
    const offer = (start: number, end: number, piece: number, score: number) => {
      const sum = score + scores[start]!;
      if (starts[end] !== -1 && sum <= scores[end]!) return;
      scores[end] = sum;
      pieces[end] = piece;
      starts[end] = start;
    };
    for (let start = 0; start < length; ) {
      const one = start + (word.codePointAt(start)! > 0xffff ? 2 : 1);
      let isAlone = false;
      for (let node = 0, end = start; end < length; ) {
        node = this.#tree.get(node, word.charCodeAt(end++));
        if (node < 0) break;
        const piece = this.#ends[node]!;
        if (piece < 0) continue;
        offer(start, end, piece, this.#scores[piece]!);
        isAlone ||= end === one;
      }
      if (!isAlone) offer(start, one, this.#unknown, this.#unknownScore);
      start = one;
    }

    const found: number[][] = [];
    for (let end = length; end > 0; ) {
      let start = starts[end]!;
      const piece = pieces[end]!;
      if (piece !== this.#unknown) found.push([piece]);
      else {
        // Unknown neighbours are one.
        while (start > 0 && pieces[start] === piece) start = starts[start]!;
        found.push(this.#idsOf(word.slice(start, end)));
      }
      end = start;
    }
    return found.reverse().flat();
  }

  /** The ids of a stretch that no piece spells. */
  #idsOf(unknown: string): number[] {
    const own = this.#ids.get(unknown);
    if (own !== undefined) return [own];
    const bytes = this.#bytes && Array.from(Buffer.from(unknown), (byte) => this.#bytes![byte]);
    return bytes?.every((id) => id !== undefined) ? bytes : [this.#unknown];
  }
}
