import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { UserError } from '../../config/index.js';
import { onFile } from '../../errors/file-error.js';

/** The built files of the page. */
export interface Page {
  html: string;
  script: string;
  style: string;
}

/** Finds the folder of the installed package `@grpo/studio`. */
function packageFolder(): string {
  try {
    return dirname(createRequire(import.meta.url).resolve('@grpo/studio/package.json'));
  } catch (cause) {
    throw new UserError("The page of the studio is not installed: the package '@grpo/studio' is missing.", {
      hint: 'Run: npm install @grpo/studio',
      cause,
    });
  }
}

/**
 * Reads the page.
 *
 * @param folder - of a build; that of the installed package by default
 * @throws UserError where it is not installed or not built
 */
export function readPage(folder = join(packageFolder(), 'dist')): Page {
  const read = (name: string) => {
    const path = join(folder, name);
    if (!existsSync(path))
      throw new UserError(`The page of the studio is not built: there is no ${path}.`, {
        hint: 'In a checkout of the repository: npm run build',
      });
    return onFile('read', path, () => readFileSync(path, 'utf8'));
  };
  return { html: read('index.html'), script: read('page.js'), style: read('page.css') };
}
