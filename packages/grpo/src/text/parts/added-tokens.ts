import type { AddedToken } from '../tokenizer-definition.js';

/** A stretch of a text: one added token, or what stands between them. */
export type Stretch = { text: string; isFirst: boolean; id?: undefined } | { id: number };

/** Finds added tokens in a text: the first one from the left, and of those that begin there the longest. */
export class AddedTokenFinder {
  readonly #root: Node = { next: new Map() };

  /** @param tokens with the texts by which they are found; of two with one text the first is meant */
  constructor(tokens: Iterable<readonly [text: string, token: AddedToken]>) {
    for (const [text, token] of tokens) {
      if (text === '') continue;
      let node = this.#root;
      for (let i = 0; i < text.length; i++) {
        const unit = text.charCodeAt(i);
        let next = node.next.get(unit);
        if (next === undefined) {
          next = { next: new Map() };
          node.next.set(unit, next);
        }
        node = next;
      }
      node.token ??= token;
    }
  }

  /** The added tokens of a text and the stretches between them, in order. */
  *split(text: string, isFirst: boolean): Generator<Stretch> {
    let last = 0;
    const between = (end: number) => ({ text: text.slice(last, end), isFirst: isFirst && last === 0 });
    for (const { token, start, end } of this.#matches(text)) {
      if (
        token.single_word &&
        (ENDS_WITH_WORD.test(text.slice(0, start)) || BEGINS_WITH_WORD.test(text.slice(end)))
      )
        continue;
      // White space that the token before has taken stays with it.
      const from = token.lstrip ? Math.max(last, text.slice(0, start).search(BLANK_END)) : start;
      if (last < from) yield between(from);
      yield { id: token.id };
      last = token.rstrip ? end + BLANK_BEGINNING.exec(text.slice(end))![0].length : end;
    }
    if (last < text.length) yield between(text.length);
  }

  *#matches(text: string): Generator<{ token: AddedToken; start: number; end: number }> {
    for (let start = 0; start < text.length; ) {
      let node = this.#root.next.get(text.charCodeAt(start));
      let found: { token: AddedToken; start: number; end: number } | undefined;
      for (let end = start + 1; node !== undefined; end++) {
        if (node.token) found = { token: node.token, start, end };
        node = end < text.length ? node.next.get(text.charCodeAt(end)) : undefined;
      }
      if (found) yield found;
      start = found?.end ?? start + 1;
    }
  }
}

interface Node {
  next: Map<number, Node>;
  token?: AddedToken;
}

const BLANK_END = /\p{White_Space}*$/u;
const BLANK_BEGINNING = /^\p{White_Space}*/u;
// What Rust's regular expressions take for a word's character.
const ENDS_WITH_WORD = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u;
const BEGINS_WITH_WORD = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
