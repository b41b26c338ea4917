/** Environment variables, as launchers set them. */
import { UsageError } from '../errors/user-error.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variables that are set, as a shell writes them. */
export const assignments = (env: Environment, names: readonly string[]): string =>
  names.flatMap((name) => (env[name] ? [`${name}=${env[name]}`] : [])).join(', ');

/**
 * A variable's number; undefined where it is not set, or empty.
 *
 * @throws UsageError: it is not a whole number of at least `least`
 */
export function wholeNumber(env: Environment, name: string, least = 0): number | undefined {
  const text = env[name];
  if (!text) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least) return value;
  throw new UsageError(
    `the environment variable ${name} must be a whole number of at least ${least}, found '${text}'`,
  );
}
