/** Exact rational numbers of bounded size. */

/** numerator / denominator, in lowest terms, the denominator positive. */
export interface Rational {
  readonly n: bigint;
  readonly d: bigint;
}

/** Larger numbers are not computed: exactness is worth less than an answer in time. */
const MAX_BITS = 1024;
const LIMIT = 1n << BigInt(MAX_BITS);

export const ZERO: Rational = { n: 0n, d: 1n };
export const ONE: Rational = { n: 1n, d: 1n };

const absolute = (x: bigint) => (x < 0n ? -x : x);

/** n / d in lowest terms; null for d = 0, and for numbers beyond 1,024 bits. */
export function rational(n: bigint, d: bigint = 1n): Rational | null {
  if (d === 0n) return null;
  let [a, b] = [absolute(n), absolute(d)];
  if (a >= LIMIT * LIMIT || b >= LIMIT * LIMIT) return null;
  while (b > 0n) [a, b] = [b, a % b];
  const sign = d < 0n ? -1n : 1n;
  const reduced = { n: (sign * n) / a, d: (sign * d) / a };
  return absolute(reduced.n) < LIMIT && reduced.d < LIMIT ? reduced : null;
}

/** Reads `12`, `.5`, `12.50`: digits with at most one point. Null for a number that is too large. */
export function decimal(text: string): Rational | null {
  const [whole = '', fraction = ''] = text.split('.');
  if (whole.length + fraction.length > 300) return null;
  return rational(BigInt(`${whole}${fraction}` || '0'), 10n ** BigInt(fraction.length));
}

export const add = (a: Rational, b: Rational) => rational(a.n * b.d + b.n * a.d, a.d * b.d);
export const multiply = (a: Rational, b: Rational) => rational(a.n * b.n, a.d * b.d);
export const divide = (a: Rational, b: Rational) => rational(a.n * b.d, a.d * b.n);
export const negate = ({ n, d }: Rational): Rational => ({ n: -n, d });
export const isEqual = (a: Rational, b: Rational) => a.n === b.n && a.d === b.d;
export const sign = ({ n }: Rational) => (n > 0n ? 1 : n < 0n ? -1 : 0);

/** The power where it is rational: whole exponents, and roots that come out even. Null otherwise, and for 0⁻¹ and 0⁰. */
export function power(base: Rational, exponent: Rational): Rational | null {
  if (base.n === 0n) return exponent.n > 0n ? ZERO : null;
  if (absolute(exponent.n) > BigInt(MAX_BITS) || exponent.d > 64n) return null;
  const root = exponent.d === 1n ? base : rootOf(base, Number(exponent.d));
  if (root === null) return null;
  const times = Number(absolute(exponent.n));
  const bits = Math.max(absolute(root.n).toString(2).length, root.d.toString(2).length);
  if ((bits - 1) * times > MAX_BITS) return null;
  const raised = { n: root.n ** BigInt(times), d: root.d ** BigInt(times) };
  return exponent.n < 0n ? rational(raised.d, raised.n) : rational(raised.n, raised.d);
}

/** The real root, where it is rational; of a negative number never, as its principal root is complex. */
function rootOf({ n, d }: Rational, degree: number): Rational | null {
  if (n < 0n) return null;
  const [top, bottom] = [wholeRoot(n, degree), wholeRoot(d, degree)];
  return top === null || bottom === null ? null : rational(top, bottom);
}

function wholeRoot(value: bigint, degree: number): bigint | null {
  const k = BigInt(degree);
  let low = 0n;
  let high = 1n << BigInt(Math.ceil(value.toString(2).length / degree));
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (middle ** k <= value) low = middle;
    else high = middle - 1n;
  }
  return low ** k === value ? low : null;
}

/** The nearest double, also where numerator and denominator are beyond its range. */
export function toNumber({ n, d }: Rational): number {
  const shift = BigInt(Math.max(0, Math.max(absolute(n).toString(2).length, d.toString(2).length) - 1000));
  return Number(n >> shift) / Number(d >> shift);
}
