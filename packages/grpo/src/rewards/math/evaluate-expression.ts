/** The value of an expression: exact where it is rational, otherwise in complex floating point. */
import * as c from './complex.js';
import type { Constant, Expression, FunctionName } from './expression.js';
import * as q from './rational.js';
import type { Work } from './work.js';

/** Values of the variables. */
export type Point = ReadonlyMap<string, q.Rational>;

const MAX_FACTORIAL = 150n;

/** The exact value at a point; null where it is irrational, undefined or too large. */
export function evaluateExactly(e: Expression, at: Point, work: Work): q.Rational | null {
  const value = exact(e, at, work);
  // Arithmetic of long numbers takes longer.
  if (value) work.spend((Number(value.n > 2n ** 64n || value.d > 2n ** 64n) + 1) * 8);
  return value;
}

function exact(e: Expression, at: Point, work: Work): q.Rational | null {
  switch (e.kind) {
    case 'number':
      return e.value;
    case 'variable':
      return at.get(e.name) ?? null;
    case 'sum':
    case 'product': {
      const join = e.kind === 'sum' ? q.add : q.multiply;
      let total: q.Rational | null = e.kind === 'sum' ? q.ZERO : q.ONE;
      for (const term of e.terms) {
        const value: q.Rational | null = total && evaluateExactly(term, at, work);
        total = total && value && join(total, value);
      }
      return total;
    }
    case 'quotient':
      return both(e.top, e.bottom, q.divide);
    case 'power':
      return both(e.base, e.exponent, q.power);
    case 'choose':
      return both(e.n, e.k, choose);
    case 'call': {
      const value = evaluateExactly(e.argument, at, work);
      return value && exactCall(e.name, value);
    }
    default:
      return null;
  }

  function both(a: Expression, b: Expression, join: (x: q.Rational, y: q.Rational) => q.Rational | null) {
    const left = evaluateExactly(a, at, work);
    const right = left && evaluateExactly(b, at, work);
    return left && right && join(left, right);
  }
}

function exactCall(name: FunctionName, value: q.Rational): q.Rational | null {
  const { n, d } = value;
  const down = n / d - (n < 0n && n % d !== 0n ? 1n : 0n);
  switch (name) {
    case 'abs':
      return n < 0n ? q.negate(value) : value;
    case 'floor':
      return q.rational(down);
    case 'ceil':
      return q.rational(d === 1n ? n : down + 1n);
    case 'factorial':
      return d === 1n && n >= 0n && n <= MAX_FACTORIAL ? q.rational(factorial(n)) : null;
    default:
      return null;
  }
}

function factorial(n: bigint): bigint {
  let value = 1n;
  for (let k = 2n; k <= n; k++) value *= k;
  return value;
}

/** n (n − 1) … (n − k + 1) / k!, for whole k and any n. */
function choose(n: q.Rational, k: q.Rational): q.Rational | null {
  if (k.d !== 1n || k.n < 0n || k.n > MAX_FACTORIAL) return null;
  let value: q.Rational | null = q.ONE;
  for (let j = 0n; value && j < k.n; j++) {
    const factor = q.rational(n.n - j * n.d, n.d * (j + 1n));
    value = factor && q.multiply(value, factor);
  }
  return value;
}

/** A value in floating point, and how much its sums cancelled: the most that a term was larger than its sum. */
export interface RoughValue {
  value: c.Complex;
  cancellation: number;
}

/** The value at a point; NaN where it is undefined. */
export function evaluateRoughly(e: Expression, at: Point, work: Work): RoughValue {
  let cancellation = 1;
  const value = (part: Expression): c.Complex => {
    work.spend(3);
    return rough(part);
  };
  const sum = (terms: readonly c.Complex[]): c.Complex => {
    const total = terms.reduce(c.add);
    const largest = terms.reduce((most, term) => Math.max(most, c.abs(term)), 0);
    if (largest > 0) cancellation = Math.max(cancellation, largest / c.abs(total));
    return total;
  };
  const rough = (part: Expression): c.Complex => {
    switch (part.kind) {
      case 'number':
        return c.complex(q.toNumber(part.value));
      case 'constant':
        return CONSTANTS[part.name];
      case 'variable':
        return c.complex(q.toNumber(at.get(part.name)!));
      case 'sum':
        return sum(part.terms.map(value));
      case 'product':
        return part.terms.map(value).reduce(c.multiply);
      case 'quotient':
        return c.divide(value(part.top), value(part.bottom));
      case 'power':
        return c.power(value(part.base), value(part.exponent));
      case 'call':
        return CALLS[part.name](value(part.argument));
      case 'either':
      case 'choose':
        return UNDEFINED;
    }
  };
  return { value: value(e), cancellation };
}

const UNDEFINED = c.complex(Number.NaN);

const CONSTANTS: Readonly<Record<Constant, c.Complex>> = {
  pi: c.complex(Math.PI),
  e: c.complex(Math.E),
  i: c.complex(0, 1),
  infinity: c.complex(Number.POSITIVE_INFINITY),
};

const one = c.complex(1);
const ofReal = (f: (x: number) => number) => (z: c.Complex) => (z.im === 0 ? c.complex(f(z.re)) : UNDEFINED);

const CALLS: Readonly<Record<FunctionName, (z: c.Complex) => c.Complex>> = {
  sin: c.sin,
  cos: c.cos,
  tan: (z) => c.divide(c.sin(z), c.cos(z)),
  cot: (z) => c.divide(c.cos(z), c.sin(z)),
  sec: (z) => c.divide(one, c.cos(z)),
  csc: (z) => c.divide(one, c.sin(z)),
  arcsin: c.asin,
  arccos: c.acos,
  arctan: c.atan,
  sinh: c.sinh,
  cosh: c.cosh,
  tanh: (z) => c.divide(c.sinh(z), c.cosh(z)),
  ln: c.log,
  log: (z) => c.divide(c.log(z), c.complex(Math.LN10)),
  exp: c.exp,
  abs: (z) => c.complex(c.abs(z)),
  floor: ofReal(Math.floor),
  ceil: ofReal(Math.ceil),
  factorial: () => UNDEFINED,
};
