import { strip } from './text-functions.js';
import { Float, int, numberOf, type Value } from './values.js';

/** The filter `int`, for base 10. */
export function toInt(value: Value, otherwise: Value): Value {
  if (value === undefined) throw new Error('int: the value is undefined');
  const parsed = typeof value === 'string' ? parse(value) : numberOf(value);
  if (parsed === undefined || Number.isNaN(parsed)) return otherwise;
  if (typeof value === 'string' && !Number.isFinite(parsed)) return otherwise;
  return int(Math.trunc(parsed)) + 0;
}

/** The filter `float`. */
export function toFloat(value: Value, otherwise: Value): Value {
  if (value === undefined) throw new Error('float: the value is undefined');
  const parsed = typeof value === 'string' ? parse(value) : numberOf(value);
  return parsed === undefined ? otherwise : new Float(parsed);
}

/** A number as Python's `float` reads it; undefined where it is none. */
function parse(value: string): number | undefined {
  const bare = strip(value, undefined).replace(/(?<=\d)_(?=\d)/g, '');
  if (/^[+-]?(inf(inity)?|nan)$/i.test(bare)) {
    if (/nan/i.test(bare)) return Number.NaN;
    return bare.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(bare)) return Number(bare);
  if (/(?![0-9])\p{Nd}/u.test(bare)) {
    throw new Error(`the text ${JSON.stringify(bare)} as a number is not supported: write 0 to 9`);
  }
  return undefined;
}
