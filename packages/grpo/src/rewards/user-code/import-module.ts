import { stat } from 'node:fs/promises';
import { createJiti, type JitiOptions } from 'jiti';
import { fileError } from '../../errors/file-error.js';
import { UserError } from '../../errors/user-error.js';
import { describeError } from '../describe-error.js';
import { answerOf, UserCodeGuard } from './user-code.js';

/**
 * Imports a user's TypeScript or JavaScript module as it is, without a build.
 *
 * @param what - its kind, for messages: `reward module`
 * @param path - absolute
 * @param given - modules that it can import from anywhere, also outside any npm project
 * @throws UserError when there is no such file, or it cannot be loaded
 */
export async function importModule(
  what: string,
  path: string,
  given: Pick<JitiOptions, 'alias' | 'virtualModules'>,
): Promise<Record<string, unknown>> {
  try {
    await stat(path);
  } catch (cause) {
    const refused = fileError('read', path, cause);
    throw new UserError(`${what}: ${refused instanceof Error ? refused.message : refused}`, { cause });
  }
  // The user's folder stays as it was, and an edited file is never taken from a cache.
  const jiti = createJiti(import.meta.url, { fsCache: false, interopDefault: false, ...given });
  using guard = new UserCodeGuard();
  try {
    const load = () => jiti.import<Record<string, unknown>>(path);
    return await guard.during(() => answerOf(`${what} ${path}`, load()));
  } catch (cause) {
    throw new UserError(`${what} ${path} cannot be loaded: ${describeLoadError(cause)}`, { cause });
  }
}

/** Lists a module's exports with their types, for an error message. */
export function describeExports(exported: Record<string, unknown>): string {
  const names = Object.keys(exported).sort();
  return names.length === 0 ? 'nothing' : names.map((key) => `${key} (${typeof exported[key]})`).join(', ');
}

/** A syntax error carries its own place, on a line of its own; anything else was thrown by the module. */
function describeLoadError(error: unknown): string {
  const syntax =
    error instanceof Error ? /^ParseError: (.*?)\s+(\S+:\d+:\d+)\s*$/s.exec(error.message) : null;
  if (syntax) return `${syntax[1]} (${syntax[2]})`;
  // The first line only: Node lists jiti's own files as those that required a missing one.
  if (error instanceof Error && 'code' in error) return error.message.split('\n')[0]!;
  return describeError(error);
}
