/** Values as Python prints them and as JSON writes them: `{'loss': nan, 'ok': True}`, `{"loss": NaN}`. */

const MAX_DEPTH = 50;

const WORDS: Readonly<Record<string, unknown>> = {
  None: null,
  null: null,
  True: true,
  true: true,
  False: false,
  false: false,
  nan: Number.NaN,
  NaN: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  Infinity: Number.POSITIVE_INFINITY,
};

const NUMBER = /[+-]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const WORD = /[A-Za-z_][\w.]*/y;

/** What is no literal. */
class NotLiteral extends Error {}

/** The value that a text is as a whole; undefined when it is none. */
export function literal(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const parser = new Parser(text, 0);
    const value = parser.attempt();
    return value !== undefined && parser.atEnd() ? value : undefined;
  }
}

/** Whether a text is a literal that ends too early. */
export function isCutOff(text: string): boolean {
  const parser = new Parser(text, 0);
  return parser.attempt() === undefined && parser.atEnd();
}

/** The dicts in a line of a log, whatever stands around them, and the whole pairs of a last one that does not end. */
export function dictsIn(text: string): {
  dicts: Record<string, unknown>[];
  cut?: Record<string, unknown>;
} {
  const dicts: Record<string, unknown>[] = [];
  let cut: Record<string, unknown> | undefined;
  for (let at = nextDict(text, 0); at >= 0; at = nextDict(text, at)) {
    const parser = new Parser(text, at);
    const value = parser.attempt();
    if (value === undefined) {
      cut ??= parser.cutOff;
      at++;
    } else {
      dicts.push(value as Record<string, unknown>);
      cut = undefined;
      at = parser.at;
    }
  }
  return cut ? { dicts, cut } : { dicts };
}

/** The whole pairs of a dict that a text begins with and ends before it; undefined where another thing is wrong with it. */
export function cutOffDict(text: string): Record<string, unknown> | undefined {
  const parser = new Parser(text, 0);
  return parser.attempt() === undefined ? parser.cutOff : undefined;
}

/** Where a brace comes that a quoted key follows. */
function nextDict(text: string, from: number): number {
  for (let at = text.indexOf('{', from); at >= 0; at = text.indexOf('{', at + 1)) {
    const next = text.slice(at + 1, at + 20).trimStart()[0];
    if (next === "'" || next === '"') return at;
  }
  return -1;
}

class Parser {
  /** The outermost dict, as far as it was read. */
  #outer: Record<string, unknown> | undefined;

  constructor(
    private readonly text: string,
    public at: number,
  ) {}

  /** The whole pairs of a dict that ends too early. */
  get cutOff(): Record<string, unknown> | undefined {
    return this.atEnd() ? this.#outer : undefined;
  }

  /** The value at the place; undefined where there is none. */
  attempt(): unknown {
    try {
      return this.#value(0);
    } catch (error) {
      if (error instanceof NotLiteral) return undefined;
      throw error;
    }
  }

  atEnd(): boolean {
    this.#space();
    return this.at >= this.text.length;
  }

  #value(depth: number): unknown {
    if (depth > MAX_DEPTH) throw new NotLiteral();
    this.#space();
    const char = this.text[this.at];
    if (char === '{') return this.#dict(depth);
    if (char === '[') return this.#list(depth, ']');
    if (char === '(') return this.#list(depth, ')');
    if (char === "'" || char === '"') return this.#string(char);
    const sign = char === '-' || char === '+' ? char : '';
    const number = this.#match(NUMBER);
    if (number !== undefined) return Number(number.replaceAll('_', ''));
    this.at += sign.length;
    const word = this.#match(WORD);
    if (word === undefined) throw new NotLiteral();
    if (this.text[this.at] === '(') return this.#call(depth);
    if (!Object.hasOwn(WORDS, word)) throw new NotLiteral();
    const value = WORDS[word];
    return sign === '-' && typeof value === 'number' ? -value : value;
  }

  #dict(depth: number): Record<string, unknown> {
    this.at++;
    const dict: Record<string, unknown> = {};
    this.#outer ??= dict;
    for (;;) {
      this.#space();
      if (this.#take('}')) return dict;
      const key = this.#value(depth + 1);
      this.#space();
      if (!this.#take(':')) throw new NotLiteral();
      const value = this.#value(depth + 1);
      this.#space();
      // A number that the text ends in may have more digits.
      if (!this.#take(',') && this.text[this.at] !== '}') throw new NotLiteral();
      Object.defineProperty(dict, String(key), {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
  }

  #list(depth: number, end: ']' | ')'): unknown[] {
    this.at++;
    const list: unknown[] = [];
    for (;;) {
      this.#space();
      if (this.#take(end)) return list;
      list.push(this.#value(depth + 1));
      this.#space();
      if (!this.#take(',') && this.text[this.at] !== end) throw new NotLiteral();
    }
  }

  /** `tensor(0.5, device='cuda:0')`, `np.float64(0.5)`: what is in it first. */
  #call(depth: number): unknown {
    this.at++;
    const value = this.#value(depth + 1);
    const end = this.text.indexOf(')', this.at);
    if (end < 0) {
      this.at = this.text.length;
      throw new NotLiteral();
    }
    this.at = end + 1;
    return value;
  }

  #string(quote: string): string {
    const start = this.at;
    for (this.at++; this.at < this.text.length; this.at++) {
      const char = this.text[this.at];
      if (char === '\\') this.at++;
      else if (char === quote) return unescaped(this.text.slice(start + 1, this.at++));
    }
    throw new NotLiteral();
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  #take(char: string): boolean {
    if (this.text[this.at] !== char) return false;
    this.at++;
    return true;
  }

  #space(): void {
    while (this.at < this.text.length && ' \t\r\n'.includes(this.text[this.at]!)) this.at++;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '0': '\0' };

function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(?:u([\da-fA-F]{4})|x([\da-fA-F]{2})|(.))/gs, (_, u, x, char: string) =>
    u || x ? String.fromCharCode(Number.parseInt(u ?? x, 16)) : (ESCAPES[char] ?? char),
  );
}
