import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The run folder that a path is of: itself, or the one of a step record in it; undefined where it is of none. */
export function runOf(path: string): string | undefined {
  return [path, dirname(dirname(resolve(path)))].find((folder) => existsSync(join(folder, 'config.json')));
}
