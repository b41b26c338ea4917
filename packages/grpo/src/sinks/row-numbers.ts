/** Numbers of rows, where the name of a number that JSON lacks stands for it. */
import { isObject } from '../formats/json.js';
import type { Numbers } from './sink.js';

const LACKING = /^(NaN|-?Infinity)$/;

export const numberIn = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && LACKING.test(value) ? Number(value) : undefined;
};

/** The numbers of a row by their names; those of an object in it as `greedy/reward`. */
export function numbersIn(row: Readonly<Record<string, unknown>>, prefix = ''): Numbers {
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => {
      if (isObject(value)) return Object.entries(numbersIn(value, `${prefix}${name}/`));
      const number = numberIn(value);
      return number === undefined ? [] : [[prefix + name, number] as const];
    }),
  );
}

/** A value with its numbers as they were before it was JSON. */
export function revived(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revived);
  if (!isObject(value)) return numberIn(value) ?? value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, revived(inner)]));
}
