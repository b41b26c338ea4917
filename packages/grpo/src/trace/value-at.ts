/** Places in a record by their path: `updates.0.weights`. */

/** The value at a path; undefined where there is none. */
export const valueAt = (record: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((place, key) => {
    const isHolder = typeof place === 'object' && place !== null && Object.hasOwn(place, key);
    return isHolder ? (place as Record<string, unknown>)[key] : undefined;
  }, record);

/**
 * Puts a value at a path. Objects on the way are made, so that a writer need not name empty objects in the JSON.
 *
 * @returns whether the record can hold it
 */
export function setAt(record: Record<string, unknown>, path: string, value: unknown): boolean {
  const keys = path.split('.');
  const last = keys.pop()!;
  let place: unknown = record;
  for (const key of keys) place = child(place, key);
  if (typeof place !== 'object' || place === null || !isPlainKey(last)) return false;
  (place as Record<string, unknown>)[last] = value;
  return true;
}

function child(place: unknown, key: string): unknown {
  if (typeof place !== 'object' || place === null || !isPlainKey(key)) return undefined;
  const holder = place as Record<string, unknown>;
  if (!Array.isArray(holder)) holder[key] ??= {};
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}

/** Not one that reaches the prototype. */
const isPlainKey = (key: string) => key !== '__proto__' && key !== 'constructor' && key !== 'prototype';
