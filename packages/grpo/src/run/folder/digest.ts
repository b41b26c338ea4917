import { createHash } from 'node:crypto';
import { isObject } from '../../formats/json.js';

/**
 * The SHA-256 of a value: of two values that hold the same numbers and texts it is the same, whatever the order of their
 * keys. A key without a value counts as missing, −0 as 0, and every NaN is alike.
 */
export const digestOf = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(value, canonical) ?? '')
    .digest('hex');

function canonical(this: Record<string, unknown>, key: string): unknown {
  // Not as a Buffer's toJSON gives it.
  const value = this[key];
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  // As bytes: writing a million ids and log-probs one by one takes seconds.
  if (ArrayBuffer.isView(value) || isNumbers(value)) return base64Of(value as ArrayLike<number>);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const isNumbers = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'number');

/** Numbers in base64; NaN has many bit patterns, and adding 0 takes the sign of −0 away. */
function base64Of(values: ArrayLike<number>): string {
  const numbers = new Float64Array(values);
  for (const [i, value] of numbers.entries()) numbers[i] = Number.isNaN(value) ? Number.NaN : value + 0;
  return Buffer.from(numbers.buffer).toString('base64');
}
