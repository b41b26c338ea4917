/** The parsed form of an answer. */
import type { Rational } from './rational.js';

export type Constant = 'pi' | 'e' | 'i' | 'infinity';

/** A value: a number, or a function of variables. */
export type Expression =
  | { kind: 'number'; value: Rational }
  | { kind: 'constant'; name: Constant }
  | { kind: 'variable'; name: string }
  | { kind: 'sum' | 'product'; terms: readonly Expression[] }
  | { kind: 'quotient'; top: Expression; bottom: Expression }
  | { kind: 'power'; base: Expression; exponent: Expression }
  /** ± (sign 1) or ∓ (sign −1) of a term. */
  | { kind: 'either'; sign: 1 | -1; term: Expression }
  | { kind: 'call'; name: FunctionName; argument: Expression }
  /** `n` things out of it: n! / (k! (n − k)!). */
  | { kind: 'choose'; n: Expression; k: Expression };

export const FUNCTIONS = [
  'sin',
  'cos',
  'tan',
  'cot',
  'sec',
  'csc',
  'arcsin',
  'arccos',
  'arctan',
  'sinh',
  'cosh',
  'tanh',
  'ln',
  'log',
  'exp',
  'abs',
  'floor',
  'ceil',
  'factorial',
] as const;

export type FunctionName = (typeof FUNCTIONS)[number];

/** `<` and `≤` also stand for `>` and `≥`, with the sides exchanged. */
export type RelationSign = '=' | '<' | '≤' | '≠';

/** An answer: a value or a structure of values. */
export type Answer =
  | { kind: 'value'; value: Expression }
  /** `open` and `close` are the brackets: `( )` of tuples and open intervals, `{ }` of sets, none of a bare list. */
  | { kind: 'list'; open: '(' | '[' | '{' | ''; close: ')' | ']' | '}' | ''; items: readonly Answer[] }
  /** Ratios: 3 : 2. */
  | { kind: 'ratio'; items: readonly Answer[] }
  | { kind: 'matrix'; rows: readonly (readonly Answer[])[] }
  /** Parts of a union, in any order. */
  | { kind: 'union'; items: readonly Answer[] }
  /** `sides` has one entry more than `signs`: 1 < x ≤ 3 is a chain. */
  | { kind: 'relation'; sides: readonly Answer[]; signs: readonly RelationSign[] };

export const minusOne: Expression = { kind: 'number', value: { n: -1n, d: 1n } };
export const negate = (term: Expression): Expression => ({ kind: 'product', terms: [minusOne, term] });

/** The direct parts of an expression. */
export function partsOf(e: Expression): readonly Expression[] {
  switch (e.kind) {
    case 'sum':
    case 'product':
      return e.terms;
    case 'quotient':
      return [e.top, e.bottom];
    case 'power':
      return [e.base, e.exponent];
    case 'either':
      return [e.term];
    case 'call':
      return [e.argument];
    case 'choose':
      return [e.n, e.k];
    default:
      return [];
  }
}

/** The names of its variables. */
export function variablesOf(e: Expression, names = new Set<string>()): Set<string> {
  if (e.kind === 'variable') names.add(e.name);
  for (const part of partsOf(e)) variablesOf(part, names);
  return names;
}
