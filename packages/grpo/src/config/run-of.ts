import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Finds the run folder of a path: the path itself, or the folder that holds the step record. */
export function runOf(path: string): string | undefined {
  return [path, dirname(dirname(resolve(path)))].find((folder) => existsSync(join(folder, 'config.json')));
}

/** Why a path that {@link runOf} finds no run for has no weights. */
export const noRun = (path: string): string =>
  `${path} is not a run folder of grpo, so there are no weights to load`;
