import { Float, iterate, kindOf, Lazy, Markup, numberOf, Tuple, type Value, View } from './values.js';

/** Python's `==`. */
export function equal(left: Value, right: Value): boolean {
  if (left instanceof View || right instanceof View) throw new Error('views of a dict cannot be compared');
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a !== undefined || b !== undefined) return a === b;
  if (left instanceof Markup) return equal(left.text, right);
  if (right instanceof Markup) return equal(left, right.text);
  if (Array.isArray(left) && Array.isArray(right)) return sameItems(left, right);
  if (left instanceof Tuple && right instanceof Tuple) return sameItems(left.items, right.items);
  if (left instanceof Map && right instanceof Map) {
    return (
      left.size === right.size &&
      [...left].every(([key, value]) => right.has(key) && equal(value, right.get(key)))
    );
  }
  return left === right;
}

function sameItems(left: readonly Value[], right: readonly Value[]): boolean {
  return left.length === right.length && left.every((item, i) => equal(item, right[i]));
}

/** Negative, 0 or positive, as Python orders numbers and text (by code points). */
export function order(left: Value, right: Value): number {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a !== undefined && b !== undefined) return a < b ? -1 : Number(a > b);
  if (typeof left === 'string' && typeof right === 'string') return orderText(left, right);
  throw new Error(`${kindOf(left)} and ${kindOf(right)} have no supported order`);
}

export function orderText(left: string, right: string): number {
  const [a, b] = [Array.from(left), Array.from(right)];
  const at = a.findIndex((char, i) => char !== b[i]);
  if (at < 0) return a.length - b.length;
  return at < b.length ? a[at]!.codePointAt(0)! - b[at]!.codePointAt(0)! : 1;
}

/** Python's `in`. */
export function contains(container: Value, item: Value): boolean {
  if (typeof container === 'string') {
    if (typeof item === 'string') return container.includes(item);
    throw new Error(`in: a text contains text, not ${kindOf(item)}`);
  }
  if (container instanceof Map) {
    if (typeof item === 'string') return container.has(item);
    if (item instanceof Float || numberOf(item) !== undefined || item === null) return false;
    throw new Error(`in: ${kindOf(item)} as the key of a dict`);
  }
  if (container instanceof Lazy) {
    while (container.rest.length > 0) if (equal(container.rest.shift(), item)) return true;
    return false;
  }
  return iterate(container).some((each) => equal(each, item));
}
