/** The parser of values: sums, products, powers, fractions, roots, functions. */
import { type Expression, FUNCTIONS, type FunctionName, minusOne, negate } from './expression.js';
import { decimal, multiply, power, type Rational, rational } from './rational.js';
import type { Token } from './tokens.js';
import { MAX_DEPTH, RefusalError, type Work } from './work.js';

const isFunction = (text: string | undefined): text is FunctionName =>
  (FUNCTIONS as readonly (string | undefined)[]).includes(text);

const DEGREE: Expression = {
  kind: 'quotient',
  top: { kind: 'constant', name: 'pi' },
  bottom: number({ n: 180n, d: 1n }),
};

/** Tokens of a fraction of whole numbers. */
const FRACTION = /^frac (?:\{ (\d{1,99}) \} \{ (\d{1,99}) \}|(\d)(\d)(?![\d.]))/;
const SLASHED = /^(\d{1,99}) \/ (\d{1,99})(?!\S)/;

/** Brackets of one value, by their opening token: the closing one, and their meaning. */
const GROUPS: Readonly<Record<string, readonly [close: string, meaning?: FunctionName]>> = {
  '(': [')'],
  '[': [']'],
  '{': ['}'],
  lfloor: ['rfloor', 'floor'],
  lceil: ['rceil', 'ceil'],
  '|': ['|', 'abs'],
};

export class ExpressionParser {
  #at = 0;
  #depth = 0;
  /** How many | are open: the next one closes. */
  #bars = 0;

  constructor(
    private readonly tokens: readonly Token[],
    private readonly work: Work,
  ) {}

  protected get next(): string | undefined {
    return this.tokens[this.#at]?.text;
  }

  protected peek(ahead: number): string | undefined {
    return this.tokens[this.#at + ahead]?.text;
  }

  protected advance(): string {
    this.work.spend(1);
    return this.tokens[this.#at++]?.text ?? this.fail();
  }

  protected take(text: string): boolean {
    if (this.next !== text) return false;
    this.advance();
    return true;
  }

  protected expect(text: string): void {
    if (!this.take(text)) this.fail();
  }

  protected fail(): never {
    throw new RefusalError('not mathematics');
  }

  protected nested<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) throw new RefusalError('nested too deep');
    const result = read();
    this.#depth--;
    return result;
  }

  expression(): Expression {
    const terms = [this.#term(this.next === '+' || this.next === '-' ? this.advance() : '+')];
    for (
      let sign = this.next;
      sign === '+' || sign === '-' || sign === '±' || sign === '∓';
      sign = this.next
    ) {
      this.advance();
      terms.push(this.#term(sign));
    }
    return terms.length === 1 ? terms[0]! : { kind: 'sum', terms };
  }

  #term(sign: string): Expression {
    if (sign === '±' || sign === '∓')
      return { kind: 'either', sign: sign === '±' ? 1 : -1, term: this.#product() };
    return sign === '-' ? negate(this.#product()) : this.#product();
  }

  /** Factors with and without signs between them; a quotient takes all that was divided by. */
  #product(): Expression {
    const tops = [this.#factor()];
    const bottoms: Expression[] = [];
    for (;;) {
      if (this.take('*')) tops.push(this.#factor());
      else if (this.take('/')) bottoms.push(this.#factor());
      else if (this.#startsFactor()) tops.push(this.#power());
      else break;
    }
    const top = productOf(tops);
    return bottoms.length === 0 ? top : { kind: 'quotient', top, bottom: productOf(bottoms) };
  }

  /** Whether the next token is a factor without a sign before it. A number after a number is none. */
  #startsFactor(): boolean {
    const token = this.tokens[this.#at];
    if (token === undefined) return false;
    if (token.kind === 'number') return this.tokens[this.#at - 1]?.kind !== 'number';
    if (token.kind === 'variable') return !(token.text === 'U' && /^[([]$/.test(this.peek(1) ?? ''));
    if (token.text === '|') return this.#bars === 0;
    return (
      token.text in GROUPS || /^(?:pi|infinity|sqrt|frac|binom)$/.test(token.text) || isFunction(token.text)
    );
  }

  #factor(): Expression {
    let minus = false;
    while (this.next === '-' || this.next === '+') minus = (this.advance() === '-') !== minus;
    if (this.next === '±' || this.next === '∓') {
      const sign = this.advance() === '±' ? 1 : -1;
      return { kind: 'either', sign, term: this.#power() };
    }
    const value = this.#power();
    return minus ? negate(value) : value;
  }

  #power(): Expression {
    let base = this.nested(() => this.#primary());
    for (let marks = 0; ; marks++) {
      if (marks > 4) throw new RefusalError('nested too deep');
      if (this.take('!')) base = { kind: 'call', name: 'factorial', argument: base };
      else if (this.take('%')) base = { kind: 'quotient', top: base, bottom: number({ n: 100n, d: 1n }) };
      else if (this.next === '^' && this.peek(1) === '°') {
        this.advance();
        this.advance();
        base = { kind: 'product', terms: [base, DEGREE] };
      } else if (this.take('^') || this.#takeStars()) {
        base = { kind: 'power', base, exponent: this.nested(() => this.#exponent()) };
      } else return base;
    }
  }

  /** Python's power sign. */
  #takeStars(): boolean {
    if (this.next !== '*' || this.peek(1) !== '*') return false;
    this.advance();
    this.advance();
    return true;
  }

  #exponent(): Expression {
    if (this.take('-')) return negate(this.#power());
    return this.next === '{' ? this.nested(() => this.#group()) : this.#power();
  }

  #primary(): Expression {
    const token = this.tokens[this.#at] ?? this.fail();
    if (token.kind === 'number') return this.#number();
    if (token.kind === 'variable') return this.#variable();
    if (token.text in GROUPS) return this.#group();
    if (isFunction(token.text)) return this.#call(token.text);
    this.advance();
    switch (token.text) {
      case 'pi':
      case 'infinity':
        return { kind: 'constant', name: token.text };
      case 'frac':
        return { kind: 'quotient', top: this.#argument(), bottom: this.#argument() };
      case 'binom':
        return { kind: 'choose', n: this.#argument(), k: this.#argument() };
      case 'sqrt':
        return this.#root();
      default:
        return this.fail();
    }
  }

  #number(): Expression {
    const [digits = '', exponent = ''] = this.advance().split(/e/i);
    const scale = power({ n: 10n, d: 1n }, { n: BigInt(exponent || 0), d: 1n });
    const mantissa = decimal(digits);
    const value = mantissa && scale && multiply(mantissa, scale);
    if (!value) throw new RefusalError('too much work');
    const fraction = value.d === 1n ? this.#takeFraction() : null;
    if (fraction === null) return number(value);
    return { kind: 'sum', terms: [number(value), number(fraction)] };
  }

  /** The fraction of a mixed number: `3/4` in `7 3/4`, in `7\frac{3}{4}` and in `7\frac34`. */
  #takeFraction(): Rational | null {
    const latex = this.next === 'frac';
    if (!latex && !this.tokens[this.#at]?.spaced) return null;
    const ahead = this.tokens.slice(this.#at, this.#at + 7).map(({ text }) => text);
    const found = (latex ? FRACTION : SLASHED).exec(ahead.join(' '));
    if (!found) return null;
    const [top, bottom] = found.slice(1).flatMap((digits) => (digits ? [BigInt(digits)] : [])) as [
      bigint,
      bigint,
    ];
    if (top >= bottom) return null;
    for (let k = found[0].split(' ').length; k > 0; k--) this.advance();
    return rational(top, bottom);
  }

  /** A letter with its subscript and primes; e and i are numbers. */
  #variable(): Expression {
    let name = this.advance();
    if (this.take('_')) name += `_${this.#subscript()}`;
    while (this.take("'")) name += "'";
    if (name === 'e' || name === 'i') return { kind: 'constant', name };
    return { kind: 'variable', name };
  }

  #subscript(): string {
    if (!this.take('{')) return this.advance();
    let name = '';
    while (!this.take('}')) name += this.advance();
    return name;
  }

  #group(): Expression {
    const [close, meaning] = GROUPS[this.advance()] ?? this.fail();
    const bars = this.#bars;
    this.#bars = close === '|' ? 1 : 0;
    const value = this.expression();
    this.#bars = bars;
    this.expect(close);
    return meaning === undefined ? value : { kind: 'call', name: meaning, argument: value };
  }

  /** Argument of a command: a group, or the next digit or letter, as in `\frac12`. */
  #argument(): Expression {
    const token = this.tokens[this.#at] ?? this.fail();
    if (token.kind === 'number' && /^\d\d/.test(token.text)) {
      // `\frac12` is 1/2: the digits were read as one number.
      this.#splitDigit(token);
    }
    return this.nested(() => this.#primary());
  }

  #splitDigit(token: Token): void {
    const [first, rest] = [token.text.slice(0, 1), token.text.slice(1)];
    (this.tokens as Token[]).splice(
      this.#at,
      1,
      { ...token, text: first },
      { kind: 'number', text: rest, spaced: false },
    );
  }

  #root(): Expression {
    let degree: Expression = number({ n: 2n, d: 1n });
    if (this.take('[')) {
      degree = this.nested(() => this.expression());
      this.expect(']');
    }
    // √ of a plain number takes all of it; \sqrt of digits takes the first, which nobody means.
    const base = this.nested(() => this.#primary());
    return {
      kind: 'power',
      base,
      exponent: { kind: 'quotient', top: number({ n: 1n, d: 1n }), bottom: degree },
    };
  }

  /** A function with its power or base before its argument: `\sin^2 x`, `\log_2 8`. */
  #call(name: FunctionName): Expression {
    this.advance();
    let base: Expression | undefined;
    let exponent: Expression | undefined;
    if (name === 'log' && this.take('_')) base = this.#argument();
    if (this.take('^')) exponent = this.nested(() => this.#exponent());
    const argument = this.nested(() =>
      this.next === '(' || this.next === '{' ? this.#group() : this.#tight(),
    );
    const inverse = isMinusOne(exponent) && /^(?:sin|cos|tan)$/.test(name);
    if (inverse) return { kind: 'call', name: `arc${name}` as FunctionName, argument };
    const call: Expression =
      base === undefined
        ? { kind: 'call', name, argument }
        : {
            kind: 'quotient',
            top: { kind: 'call', name: 'ln', argument },
            bottom: { kind: 'call', name: 'ln', argument: base },
          };
    return exponent === undefined ? call : { kind: 'power', base: call, exponent };
  }

  /** The argument of a function without brackets: factors up to the next sign or function. */
  #tight(): Expression {
    const terms = [this.#factor()];
    while (this.#startsFactor() && !isFunction(this.next) && this.next !== '(') terms.push(this.#power());
    if (terms.length === 1 && this.next === '/' && this.tokens[this.#at + 1]?.kind === 'number') {
      this.advance();
      return { kind: 'quotient', top: terms[0]!, bottom: this.#power() };
    }
    return productOf(terms);
  }
}

function number(value: Rational): Expression {
  return { kind: 'number', value };
}

const productOf = (terms: readonly Expression[]): Expression =>
  terms.length === 1 ? terms[0]! : { kind: 'product', terms };

/** Whether an exponent is −1. */
function isMinusOne(e: Expression | undefined): boolean {
  if (e?.kind !== 'product' || e.terms.length !== 2 || e.terms[0] !== minusOne) return false;
  const [, term] = e.terms;
  return term?.kind === 'number' && term.value.n === 1n && term.value.d === 1n;
}
