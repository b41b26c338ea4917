/** Numbers in sentences. */
import type { Measured } from '../outcome.js';

/** What a finding's sentence is made of: `of('x')` writes a measured value, three digits of it. */
export type Words = (of: (name: string) => string, measured: Measured) => string;

/** A value as a person reads it: whole numbers whole, others with three digits. */
export function written(value: number | string | boolean | undefined): string {
  if (value === undefined) return 'unknown';
  if (typeof value !== 'number') return typeof value === 'string' ? JSON.stringify(value) : String(value);
  if (!Number.isFinite(value) || Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  const short = Number(value.toPrecision(3));
  return size >= 1e5 || size < 1e-3 ? short.toExponential() : short.toString();
}

/** A share as a percentage. */
export const percent = (share: number | string | boolean | undefined): string =>
  typeof share === 'number' ? `${Number((100 * share).toPrecision(3))} %` : 'unknown';
