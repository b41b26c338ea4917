import type { Model } from '../models/index.js';
import type { Tokenizer } from '../text/tokenizer.js';
import type { SamplingOptions } from './completion.js';

/** Whether a growing completion ends with its last token: at an end token, or a stop string that this completed. */
export function endingOf(
  { endIds, tokenizer }: Pick<Model, 'endIds' | 'tokenizer'>,
  { minNewTokens, stop }: Pick<SamplingOptions, 'minNewTokens' | 'stop'>,
): (ids: readonly number[]) => boolean {
  const strings = new StopStrings(stop, tokenizer);
  return (ids) =>
    ids.length >= minNewTokens && (endIds.has(ids.at(-1)!) || strings.completedBy(ids) !== undefined);
}

/** Finds stop strings at the end of a growing completion without decoding all of it again. */
export class StopStrings {
  readonly #bytes: number;

  constructor(
    private readonly strings: readonly string[],
    private readonly tokenizer: Tokenizer,
  ) {
    this.#bytes = Math.max(0, ...strings.map((s) => Buffer.byteLength(s)));
  }

  /** The first of the stop strings that the last token of `ids` completed; one that was complete before does not count. */
  completedBy(ids: readonly number[]): string | undefined {
    if (this.strings.length === 0) return undefined;
    // The string ends inside the last token: so many bytes before it can belong to the string.
    let first = ids.length - 1;
    for (let bytes = 0; first > 0 && bytes < this.#bytes; ) {
      first--;
      bytes += this.tokenizer.bytesOf(ids[first]!).length;
    }
    // What bytes are as text, the whole run of them tells.
    while (first > 0 && this.tokenizer.isByte(ids[first]!)) first--;
    const isInside = first > 0;
    const tail = this.tokenizer.decode(ids.slice(first), { isInside });
    const found = this.strings.filter((s) => tail.includes(s));
    if (found.length === 0) return undefined;
    const known = commonPrefix(this.tokenizer.decode(ids.slice(first, -1), { isInside }), tail);
    return found.find((s) => tail.lastIndexOf(s) + s.length > known);
  }
}

/** How far two texts agree: a character whose last bytes came with the last token is not yet in the shorter one. */
function commonPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}
