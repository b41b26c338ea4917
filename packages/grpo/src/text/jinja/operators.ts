import { contains, equal, order } from './comparison.js';
import { text } from './print.js';
import { Float, int, kindOf, numberOf, Tuple, type Value } from './values.js';

/** A binary operator other than `and` and `or`. @throws Error where Python would, and for other operands. */
export function binary(operator: string, left: Value, right: Value): Value {
  switch (operator) {
    case '==':
      return equal(left, right);
    case '!=':
      return !equal(left, right);
    case '<':
      return order(left, right) < 0;
    case '>':
      return order(left, right) > 0;
    case '<=':
      return order(left, right) <= 0;
    case '>=':
      return order(left, right) >= 0;
    case 'in':
      return contains(right, left);
    case 'not in':
      return !contains(right, left);
    case '~':
      return text(left) + text(right);
    default:
      return arithmetic(operator, left, right) ?? unsupported(operator, left, right);
  }
}

/** A sign. */
export function unary(operator: string, value: Value): Value {
  const number = numberOf(value);
  if (number === undefined) throw new Error(`${operator} of ${kindOf(value)}`);
  const signed = operator === '-' ? -number : number;
  return value instanceof Float ? new Float(signed) : signed + 0;
}

function arithmetic(operator: string, left: Value, right: Value): Value {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a !== undefined && b !== undefined) {
    const float =
      left instanceof Float || right instanceof Float || operator === '/' || (operator === '**' && b < 0);
    const result = calculate(operator, a, b);
    if (result === undefined) return undefined;
    if (float && !Number.isFinite(result) && Number.isFinite(a) && Number.isFinite(b)) {
      throw new Error(`${a} ${operator} ${b} is not a finite number`);
    }
    return float ? new Float(result) : int(result) + 0;
  }
  if (operator === '+') {
    if (typeof left === 'string' && typeof right === 'string') return left + right;
    if (Array.isArray(left) && Array.isArray(right)) return [...left, ...right];
    if (left instanceof Tuple && right instanceof Tuple) return new Tuple([...left.items, ...right.items]);
  }
  if (operator === '*') {
    if (typeof left === 'string' && typeof right === 'number') return left.repeat(Math.max(0, right));
    if (typeof right === 'string' && typeof left === 'number') return right.repeat(Math.max(0, left));
  }
  return undefined;
}

function calculate(operator: string, a: number, b: number): number | undefined {
  if (b === 0 && ['/', '//', '%'].includes(operator)) throw new Error(`${a} ${operator} 0: division by zero`);
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '//':
      return floorDivide(a, b);
    case '%':
      return modulo(a, b);
    case '**':
      return a ** b;
    default:
      return undefined;
  }
}

/** Python's result for floats; for whole numbers it is exact. */
function floorDivide(a: number, b: number): number {
  const rest = a % b;
  const quotient = (a - rest) / b - (rest !== 0 && rest < 0 !== b < 0 ? 1 : 0);
  const floor = Math.floor(quotient);
  if (quotient === 0) return signedZero(a / b);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

/** The rest of a division, with the divisor's sign. */
function modulo(a: number, b: number): number {
  const rest = a % b;
  if (rest === 0) return signedZero(b);
  return rest < 0 !== b < 0 ? rest + b : rest;
}

function signedZero(like: number): number {
  return like < 0 || Object.is(like, -0) ? -0 : 0;
}

function unsupported(operator: string, left: Value, right: Value): never {
  throw new Error(`${kindOf(left)} ${operator} ${kindOf(right)} is not supported`);
}
