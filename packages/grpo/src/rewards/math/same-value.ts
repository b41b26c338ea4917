/** Whether two expressions are one number, or one function of their variables. */
import { uniform } from '../../maths/random.js';
import { abs, subtract } from './complex.js';
import { evaluateExactly, evaluateRoughly, type Point } from './evaluate-expression.js';
import { type Expression, partsOf, variablesOf } from './expression.js';
import { isEqual, type Rational, rational, sign, toNumber } from './rational.js';
import { RefusalError, type Work } from './work.js';

/** Points that are tried, and how many of them must agree. Some may be poles, or out of a function's domain. */
const TRIED = 24;
const WANTED = 12;
const ENOUGH = 3;

/** Relative difference of equal values in floating point. */
const TOLERANCE = 1e-10;

/** How much larger than its sum a term may be: beyond, rounding hides a difference. */
const MAX_CANCELLATION = 1e4;

/** Bounds of the rational numbers that floating point tells from irrational ones. */
const MAX_DENOMINATOR = 10_000n;
const MAX_SIZE = 1_000_000_000n;

/** An expression is a number where it has no variables. */
const hasVariables = (e: Expression) => variablesOf(e).size > 0;

/**
 * Whether a and b are equal: exactly where both are rational, otherwise within 1e-10 in floating point. Functions are
 * compared at up to 24 points, positive and negative, the same for every call.
 *
 * @throws Refused where both are undefined at nearly every point, and where rounding could hide a difference
 */
export function sameValue(a: Expression, b: Expression, work: Work): boolean {
  const infinite = [infinitySign(a), infinitySign(b)];
  if (infinite.some((s) => s !== 0)) return infinite[0] === infinite[1];
  const names = [...variablesOf(b, variablesOf(a))].sort();
  if (names.length === 0) {
    const found = compareAt(a, b, new Map(), work);
    if (found === null) throw new RefusalError('undefined');
    return found;
  }
  let agreed = 0;
  for (let k = 0; k < TRIED && agreed < WANTED; k++) {
    const found = compareAt(a, b, pointOf(names, k), work);
    if (found === false) return false;
    if (found === true) agreed++;
  }
  if (agreed < ENOUGH) throw new RefusalError('undefined');
  return true;
}

/**
 * The factor f with a = f × b for all values of the variables, where there is one; by its sign, or null. Exact points
 * only: it is asked of equations, which are nearly always polynomials.
 */
export function factorSign(a: Expression, b: Expression, work: Work): 1 | -1 | null {
  const names = [...variablesOf(b, variablesOf(a))].sort();
  let factor: Rational | null = null;
  let agreed = 0;
  for (let k = 0; k < TRIED && agreed < WANTED; k++) {
    const at = pointOf(names, k);
    const [x, y] = [evaluateExactly(a, at, work), evaluateExactly(b, at, work)];
    if (x === null || y === null) continue;
    if (x.n === 0n && y.n === 0n) continue;
    const found: Rational | null = rational(x.n * y.d, x.d * y.n);
    if (found === null || found.n === 0n || (factor !== null && !isEqual(found, factor))) return null;
    factor = found;
    agreed++;
  }
  return factor === null || agreed < ENOUGH ? null : sign(factor) > 0 ? 1 : -1;
}

/** The k-th point: fractions between −8 and 8 without small divisors in common. */
function pointOf(names: readonly string[], k: number): Point {
  return new Map(
    names.map((name, i) => {
      const top = BigInt(1 + Math.floor(uniform(7, k, i) * 60));
      // Positive first, as most domains are; then either sign.
      const negative = k >= 4 && uniform(11, k, i) < 0.5;
      return [name, rational(negative ? -top : top, 7n)!];
    }),
  );
}

/** Whether both have the same value at a point; null where that cannot be told. */
function compareAt(a: Expression, b: Expression, at: Point, work: Work): boolean | null {
  const exact = [evaluateExactly(a, at, work), evaluateExactly(b, at, work)] as const;
  if (exact[0] && exact[1]) return isEqual(exact[0], exact[1]);
  const [x, y] = [evaluateRoughly(a, at, work), evaluateRoughly(b, at, work)];
  const [size, other] = [abs(x.value), abs(y.value)];
  if (!Number.isFinite(size) || !Number.isFinite(other)) {
    // A number is not equal to what is undefined; of functions this point tells nothing.
    return at.size === 0 && Number.isFinite(size) !== Number.isFinite(other) ? false : null;
  }
  if (Math.max(x.cancellation, y.cancellation) > MAX_CANCELLATION) return null;
  if (abs(subtract(x.value, y.value)) > TOLERANCE * Math.max(size, other)) return false;
  const known = exact[0] ?? exact[1];
  return known !== null && at.size === 0 && !isSimple(known) ? false : !isApproximate(a) && !isApproximate(b);
}

const isSimple = ({ n, d }: Rational) => d <= MAX_DENOMINATOR && n <= MAX_SIZE && -n <= MAX_SIZE;

/** Whether it has a decimal of nine places or more, which stands for an irrational number. */
function isApproximate(e: Expression): boolean {
  if (e.kind === 'number') return e.value.d > 100_000_000n;
  return partsOf(e).some(isApproximate);
}

/** 1 for ∞, −1 for −∞, 0 for anything else. */
function infinitySign(e: Expression): 1 | -1 | 0 {
  if (e.kind === 'constant') return e.name === 'infinity' ? 1 : 0;
  if (e.kind !== 'product' || e.terms.length !== 2 || hasVariables(e)) return 0;
  const [factor, term] = e.terms as [Expression, Expression];
  const isInfinite = term.kind === 'constant' && term.name === 'infinity';
  if (!isInfinite || factor.kind !== 'number') return 0;
  return toNumber(factor.value) > 0 ? 1 : -1;
}
