import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { UserError } from '../../../errors/user-error.js';

/** Where Debian has games; not on everybody's PATH. */
const MORE = ['/usr/games', '/usr/local/bin', '/opt/homebrew/bin'];

/**
 * Where a program is.
 *
 * @param name - a path, from the working directory, or a name that is looked for on PATH and in `/usr/games`
 * @throws UserError when there is none
 */
export function findEngine(name: string, env: NodeJS.ProcessEnv = process.env): string {
  if (isAbsolute(name) || /[\\/]/.test(name)) {
    const path = resolve(name);
    if (isProgram(path)) return path;
    throw new UserError(`the chess engine ${path} is not an executable program`);
  }
  const folders = [...(env.PATH ?? '').split(delimiter).filter(Boolean), ...MORE];
  const path = folders.map((folder) => join(folder, name)).find(isProgram);
  if (path !== undefined) return path;
  throw new UserError(`there is no chess engine ${name} on PATH or in ${MORE.join(', ')}`, {
    hint: 'Debian and Ubuntu: apt install stockfish. Or give its path, or leave task.engine out: P completions are then scored by their form only.',
  });
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
