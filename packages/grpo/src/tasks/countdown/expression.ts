/** Expressions of the Countdown game: whole numbers, + - * / and parentheses, worked out exactly. */
import { add, divide, multiply, negate, type Rational, rational } from '../../rewards/math/rational.js';

/** Nobody's solution of a dozen numbers is longer or deeper; a model may write anything. */
const MAX_LENGTH = 500;
const MAX_DEPTH = 40;

/** Why a text has no value. */
export type Unreadable =
  | 'too long'
  | 'nested too deep'
  | 'not an expression'
  | 'division by zero'
  | 'too large a number';

/** A text worked out, or why it cannot be. */
export type WorkedExpression =
  | {
      value: Rational;
      /** The numbers as they are written, from left to right. */
      numbers: bigint[];
      /** Each operation with its result, in the order of working them out: `5+7=12`. */
      steps: string[];
    }
  | { unreadable: Unreadable };

/** A fraction as `7/2`, a whole number as `12`. */
export const formatRational = ({ n, d }: Rational): string => (d === 1n ? `${n}` : `${n}/${d}`);

/**
 * Works out an expression. Signs bind as in school, a minus may stand before a number or a parenthesis; `×`, `÷` and
 * `−` are taken too. Powers (`**`), decimals and everything else are not.
 */
export function workOut(text: string): WorkedExpression {
  if (text.length > MAX_LENGTH) return { unreadable: 'too long' };
  try {
    const reader = new Reader(tokensOf(text));
    const value = reader.whole();
    return { value, numbers: reader.numbers, steps: reader.steps };
  } catch (error) {
    if (error instanceof Stop) return { unreadable: error.why };
    throw error;
  }
}

class Stop extends Error {
  constructor(readonly why: Unreadable) {
    super(why);
  }
}

const ALIASES: Readonly<Record<string, string>> = { '×': '*', '÷': '/', '−': '-' };

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  // Sticky, so that nothing in between is passed over.
  const token = /\s*(\d+|[-+*/()×÷−])/y;
  const end = text.trimEnd().length;
  while (token.lastIndex < end) {
    const found = token.exec(text)?.[1];
    if (found === undefined) throw new Stop('not an expression');
    tokens.push(ALIASES[found] ?? found);
  }
  return tokens;
}

const OPERATIONS = {
  '+': add,
  '-': (a: Rational, b: Rational) => add(a, negate(b)),
  '*': multiply,
  '/': divide,
};
type Operator = keyof typeof OPERATIONS;

/** Works out while it reads: sum = product (± product)*, product = factor (×÷ factor)*. */
class Reader {
  readonly numbers: bigint[] = [];
  readonly steps: string[] = [];
  #at = 0;
  #depth = 0;

  constructor(readonly tokens: readonly string[]) {}

  whole(): Rational {
    const value = this.#sum();
    if (this.#at < this.tokens.length) throw new Stop('not an expression');
    return value;
  }

  #sum(): Rational {
    return this.#chain(['+', '-'], () => this.#product());
  }

  #product(): Rational {
    return this.#chain(['*', '/'], () => this.#factor());
  }

  #chain(operators: readonly Operator[], operand: () => Rational): Rational {
    let value = operand();
    for (;;) {
      const operator = operators.find((sign) => sign === this.tokens[this.#at]);
      if (operator === undefined) return value;
      this.#at++;
      value = this.#apply(operator, value, operand());
    }
  }

  #apply(operator: Operator, a: Rational, b: Rational): Rational {
    if (operator === '/' && b.n === 0n) throw new Stop('division by zero');
    const value = OPERATIONS[operator](a, b);
    if (value === null) throw new Stop('too large a number');
    this.steps.push(`${formatRational(a)}${operator}${formatRational(b)}=${formatRational(value)}`);
    return value;
  }

  #factor(): Rational {
    if (++this.#depth > MAX_DEPTH) throw new Stop('nested too deep');
    const value = this.#unnested();
    this.#depth--;
    return value;
  }

  #unnested(): Rational {
    const token = this.tokens[this.#at++];
    if (token === '-') return negate(this.#factor());
    if (token === '(') {
      const value = this.#sum();
      if (this.tokens[this.#at++] !== ')') throw new Stop('not an expression');
      return value;
    }
    if (token === undefined || !/^\d/.test(token)) throw new Stop('not an expression');
    const number = BigInt(token);
    const value = rational(number);
    if (value === null) throw new Stop('too large a number');
    this.numbers.push(number);
    return value;
  }
}
