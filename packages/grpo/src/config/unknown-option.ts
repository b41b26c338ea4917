import { nearestName } from '../errors/nearest-name.js';
import { UsageError } from '../errors/user-error.js';

/**
 * Refuses options that a function of the library does not have. TypeScript does so in literals, and nobody in
 * JavaScript: without this, one misspelt letter would leave the default in place.
 *
 * @throws UsageError naming the function, the option and the nearest known one
 */
export function refuseUnknown(where: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new UsageError(
    `${where} has no option ${unknown}. The nearest known one is ${nearestName(unknown, known)}.`,
  );
}
