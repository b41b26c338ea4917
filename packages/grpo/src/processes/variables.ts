/** Environment variables, as launchers set them. */
import { wholeNumber } from '../errors/whole-number.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variables that are set, as a shell writes them. */
export const assignments = (env: Environment, names: readonly string[]): string =>
  names.flatMap((name) => (env[name] ? [`${name}=${env[name]}`] : [])).join(', ');

/**
 * A variable's number; undefined where it is not set, or empty.
 *
 * @throws UsageError: it is not a whole number of at least `least`
 */
export const numberIn = (env: Environment, name: string, least = 0): number | undefined =>
  wholeNumber(`the environment variable ${name}`, env[name] || undefined, { least });
