import type { Tokenizer } from '../text/tokenizer.js';

/** Finds stop strings at the end of a growing completion without decoding all of it again. */
export class StopStrings {
  readonly #bytes: number;

  constructor(
    private readonly strings: readonly string[],
    private readonly tokenizer: Tokenizer,
  ) {
    this.#bytes = Math.max(0, ...strings.map((s) => Buffer.byteLength(s)));
  }

  /** Whether the last token of `ids` completed a stop string. */
  endsAt(ids: readonly number[]): boolean {
    if (this.strings.length === 0) return false;
    // The string ends inside the last token: so many bytes before it can belong to the string.
    let first = ids.length - 1;
    for (let bytes = 0; first > 0 && bytes < this.#bytes; bytes += this.tokenizer.byteLength(ids[first]!)) first--;
    const tail = this.tokenizer.decode(ids.slice(first));
    return this.strings.some((s) => tail.includes(s));
  }
}
