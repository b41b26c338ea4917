import type { Tokenizer } from './tokenizer.js';

/** The text of tokens that come one by one: what is told so far, put together, is a beginning of what `decode` gives for all. */
export class TextStream {
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  /** Bytes of a run that may go on: only the whole of it shows whether it is UTF-8. */
  #held: number[] = [];
  #isInside = false;

  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly skipSpecial: boolean,
  ) {}

  /** Takes the next token. @returns text that no later token changes */
  add(id: number): string {
    const { tokenizer } = this;
    if (this.skipSpecial && tokenizer.isSpecial(id)) return '';
    if (tokenizer.isByteLevel) return this.#utf8.decode(tokenizer.bytesOf(id), { stream: true });
    this.#held.push(id);
    return tokenizer.isByte(id) ? '' : this.#release();
  }

  /** What was held back to the last. */
  end(): string {
    return this.tokenizer.isByteLevel ? this.#utf8.decode() : this.#release();
  }

  #release(): string {
    const text = this.tokenizer.decode(this.#held, { isInside: this.#isInside });
    // A space in front of all is taken away once.
    this.#isInside ||= this.tokenizer.decode(this.#held, { isInside: true }) !== '';
    this.#held = [];
    return text;
  }
}
