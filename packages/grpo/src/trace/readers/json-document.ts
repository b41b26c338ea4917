/** One JSON document of any size, member by member: `trainer_state.json` of a long run does not fit into memory. */
import { chunksOf } from './lines.js';
import { literal } from './literal.js';

/** A longer value is passed over. */
const MOST_CHARACTERS = 2 ** 20;

/** A member of the document, or one element of the list of that name. */
export type Member = { key: string; value: unknown; line: number } | { problem: string; line: number };

/**
 * The members of the object that the file is; those of the list `list` one element at a time. What is not JSON comes as
 * a problem, and a file that was cut off gives what stands before.
 */
export function* membersOf(path: string, list: string): Generator<Member> {
  const scanner = new Scanner(list);
  for (const chunk of chunksOf(path)) yield* scanner.take(chunk);
  if (!scanner.ended) yield { problem: 'the file ends within its JSON', line: scanner.line };
}

class Scanner {
  line = 1;
  ended = false;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #key = '';
  /** Text of the key or the value that is being read. */
  #text = '';
  #reading: 'key' | 'value' | 'element' | 'nothing' = 'nothing';
  #isLong = false;

  constructor(private readonly list: string) {}

  *take(chunk: string): Generator<Member> {
    let start = this.#reading === 'nothing' ? -1 : 0;
    const begin = (what: 'key' | 'value' | 'element', at: number) => {
      this.#reading = what;
      start = at;
    };
    const end = (at: number) => {
      this.#keep(chunk.slice(start, at));
      this.#reading = 'nothing';
      start = -1;
      return this.#taken();
    };
    for (let at = 0; at < chunk.length; at++) {
      const char = chunk.charCodeAt(at);
      if (char === 10) this.line++;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (char === 92) this.#escaped = true;
        else if (char === 34) {
          this.#inString = false;
          if (this.#reading === 'key') this.#key = keyOf(end(at + 1));
        }
      } else if (char === 34) {
        this.#inString = true;
        if (this.#depth === 1 && this.#reading === 'nothing') begin('key', at);
      } else if (char === 58) {
        if (this.#depth === 1 && this.#reading === 'nothing' && this.#key !== this.list)
          begin('value', at + 1);
      } else if (char === 123 || char === 91) {
        this.#depth++;
        if (this.#depth === 3 && this.#reading === 'nothing' && this.#key === this.list) begin('element', at);
      } else if (char === 125 || char === 93) {
        this.#depth--;
        if (this.#reading === 'element' && this.#depth === 2) yield this.#member(end(at + 1));
        else if (this.#reading === 'value' && this.#depth === 0) yield this.#member(end(at));
        if (this.#depth === 0) this.ended = true;
      } else if (char === 44 && this.#depth === 1) {
        if (this.#reading === 'value') yield this.#member(end(at));
        this.#key = '';
      }
    }
    if (this.#reading !== 'nothing') this.#keep(chunk.slice(start));
  }

  #keep(text: string): void {
    if (this.#text.length + text.length <= MOST_CHARACTERS) this.#text += text;
    else this.#isLong = true;
  }

  #taken(): string | undefined {
    const text = this.#isLong ? undefined : this.#text;
    this.#text = '';
    this.#isLong = false;
    return text;
  }

  #member(text: string | undefined): Member {
    const { line } = this;
    if (text === undefined) return { problem: `'${this.#key}' is too long to be metrics`, line };
    const value = literal(text.trim());
    return value === undefined
      ? { problem: `'${this.#key.slice(0, 40)}' is not valid JSON`, line }
      : { key: this.#key, value, line };
  }
}

const keyOf = (text: string | undefined) => String(literal(text ?? '""') ?? '');
