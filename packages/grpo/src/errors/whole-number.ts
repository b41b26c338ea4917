import { UsageError } from './user-error.js';

/** Values that a whole number may have; any from 0 on where nothing is said. */
interface Range {
  least?: number;
  most?: number;
}

/**
 * The whole number of a command line or of the environment; undefined where none is given.
 *
 * @param name - as a user writes it, such as `--rows`
 * @throws UsageError
 */
export function wholeNumber(
  name: string,
  text: unknown,
  { least = 0, most }: Range = {},
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  const isWhole = /^\d+$/.test(String(text)) && Number.isSafeInteger(value);
  if (isWhole && value >= least && value <= (most ?? value)) return value;
  const range = most === undefined ? `>= ${least}` : `from ${least} to ${most}`;
  throw new UsageError(`${name} must be a whole number ${range}, found '${String(text)}'`);
}
