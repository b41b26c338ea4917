import { excerpt, printable } from '../errors/printable.js';
import { describeJson } from '../formats/json.js';
import type { Row } from '../formats/read-rows.js';

/** A row that cannot be used; the message says why. */
export class RowProblem extends Error {}

/** @throws RowProblem unless the row has text under the key, and not only white space */
export function textOf(row: Row, key: string): string {
  const value = Object.hasOwn(row, key) ? row[key] : undefined;
  if (typeof value === 'string' && value.trim() !== '') return value;
  if (value !== undefined) throw new RowProblem(`${key} must be text, found ${describeJson(value)}`);
  throw new RowProblem(`no key ${excerpt(key)}; the row has ${keysOf(row)}`);
}

/** Calls `read`, and returns its result or the problem that it throws. */
export function orProblem<Item>(read: () => Item): Item | { problem: string } {
  try {
    return read();
  } catch (error) {
    if (error instanceof RowProblem) return { problem: error.message };
    throw error;
  }
}

/** The keys of a row for an error message, at most a dozen. */
export function keysOf(row: Row): string {
  const keys = Object.keys(row);
  const listed = keys.slice(0, 12).map((name) => printable(name, 40));
  return [...listed, ...(keys.length > 12 ? ['…'] : [])].join(', ') || 'no keys';
}
